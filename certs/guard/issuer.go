package guard

import (
	"cmp"
	"context"

	"github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// checkIssuer reads the Issuer itself. A Certificate's status doesn't say that its issuer is missing; only a
// CertificateRequest does, once one exists. An issuer counts as present if we may not read it, or if it isn't of
// cert-manager's own group and kinds. Other groups have kinds with the same names.
func (g *Guard) checkIssuer(ctx context.Context, c *certificate) {
	c.issuerLost = false
	crt, ok := c.object.(*cmapi.Certificate)
	if !ok || cmp.Or(crt.Spec.IssuerRef.Group, certmanager.GroupName) != certmanager.GroupName {
		return
	}
	key := types.NamespacedName{Name: crt.Spec.IssuerRef.Name}
	var issuer client.Object
	switch issuerKind(crt) {
	case cmapi.IssuerKind:
		issuer, key.Namespace = &cmapi.Issuer{}, crt.Namespace
	case cmapi.ClusterIssuerKind:
		issuer = &cmapi.ClusterIssuer{}
	default:
		return
	}
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	c.issuerLost = apierrors.IsNotFound(g.options.Client.Get(within, key, issuer))
}
