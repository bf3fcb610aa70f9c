package guard

import (
	"fmt"
	"time"

	apiutil "github.com/cert-manager/cert-manager/pkg/api/util"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// secretDoesNotExist is cert-manager's reason for a Certificate whose Secret is missing. cert-manager's own constant is
// internal.
const secretDoesNotExist = "DoesNotExist"

func judgeCertificate(c *certificate, now time.Time) []Fault {
	if apierrors.IsNotFound(c.err) { // the kind isn't installed: a list of an installed kind is never "not found"
		return []Fault{{CertManagerMissing, c.String(), fmt.Sprintf("the API server doesn't know the kind Certificate of "+
			"cert-manager, which %s needs to issue the webhook's certificate: install cert-manager, or set certs.mode to "+
			"selfManaged", c)}}
	}
	faults := c.unreadableFaults(now)
	if c.heard && c.object == nil {
		return append(faults, Fault{CertificateMissing, c.String(), fmt.Sprintf(
			"%s isn't there, so that the webhook's certificate isn't renewed: helm upgrade creates it again", c)})
	}
	crt, ok := c.object.(*cmapi.Certificate)
	if !ok {
		return faults
	}
	if c.issuerLost {
		faults = append(faults, Fault{IssuerMissing, c.String(), fmt.Sprintf("%s names the %s %s, which isn't there, so "+
			"that it can't be renewed: create it (helm upgrade creates the chart's own), or correct "+
			"certs.certManager.issuerRef", c, issuerKind(crt), crt.Spec.IssuerRef.Name)})
	}
	return append(faults, judgeReady(c, crt)...)
}

func judgeReady(c *certificate, crt *cmapi.Certificate) []Fault {
	ready := apiutil.GetCertificateCondition(crt, cmapi.CertificateConditionReady)
	switch {
	case ready == nil:
		return []Fault{{CertificateNotReady, c.String(),
			fmt.Sprintf("%s has no Ready condition yet: is cert-manager's controller running?", c)}}
	case ready.Status == cmmeta.ConditionTrue:
		return nil
	case ready.Reason == secretDoesNotExist:
		return []Fault{{SecretMissing, c.String(), fmt.Sprintf("%s: its Secret %s isn't there, and new pods wait for it: "+
			"cert-manager makes it again (it says: %s)", c, crt.Spec.SecretName, ready.Message)}}
	}
	return []Fault{{CertificateNotReady, c.String(),
		fmt.Sprintf("%s isn't ready (%s): %s", c, ready.Reason, ready.Message)}}
}

func issuerKind(crt *cmapi.Certificate) string {
	if crt.Spec.IssuerRef.Kind == "" {
		return cmapi.IssuerKind
	}
	return crt.Spec.IssuerRef.Kind
}
