package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// endsSoon is true if less than a quarter of a certificate's life is left, and less than seven days. The reconciler's
// ExpiresSoon has the same limits, so that both agree. begin is nil if it isn't known; then a week alone counts.
func endsSoon(begin *time.Time, end, now time.Time) bool {
	limit := 7 * 24 * time.Hour
	if begin != nil {
		limit = min(limit, end.Sub(*begin)/4)
	}
	return end.Sub(now) < limit
}

// authority checks the CA certificates of a caBundle. The one that ends last counts: a rotation keeps the old one for a
// while.
func (e *examination) authority(at string, bundle []byte) {
	var last *x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil &&
			(last == nil || certificate.NotAfter.After(last.NotAfter)) {
			last = certificate
		}
	}
	if last == nil {
		e.add("authority", Failure, at+" has a caBundle without a certificate",
			"docs/certificates.md names the writer of the caBundle: check it")
		return
	}
	e.expiry("authority", "the CA in "+at, &last.NotBefore, last.NotAfter)
}

func (e *examination) expiry(name, subject string, begin *time.Time, end time.Time) {
	left := end.Sub(e.now)
	const wayOut = "see docs/certificates.md"
	switch {
	case left < 0:
		e.add(name, Failure, subject+" expired "+cli.Age(-left)+" ago", wayOut)
	case endsSoon(begin, end, e.now):
		e.add(name, Warning, subject+" expires in "+cli.Age(left), wayOut)
	default:
		e.add(name, OK, subject+" is valid for "+cli.Age(left), "")
	}
}

// certificate checks the webhook's certificate. Secrets aren't read. cert-manager's Certificates show their end. In
// other modes, the reconciler's readiness tells: it includes a TLS handshake with the webhook.
func (e *examination) certificate() {
	for _, d := range e.find(reconciler) {
		switch {
		case flagOf(d, reconciler, "--certificates") != "":
			for name := range strings.SplitSeq(flagOf(d, reconciler, "--certificates"), ",") {
				e.certManager(d.Namespace, name)
			}
		case flagOf(d, reconciler, "--webhook-configuration") == "":
			e.add("certificate", Unknown, "the reconciler doesn't check the webhook's certificate, and svcmux doesn't read "+
				"Secrets", "set --webhook-configuration, as the chart does")
		default:
			e.handshake(d)
		}
	}
}

// certManager checks a Certificate of cert-manager.
func (e *examination) certManager(namespace, name string) {
	var certificate struct {
		Status struct{ NotBefore, NotAfter *time.Time }
	}
	at := "Certificate " + cli.Shown(namespace+"/"+name)
	found, err := e.cluster.JSON(e.ctx, "/apis/cert-manager.io/v1/namespaces/"+namespace+"/certificates/"+name,
		&certificate)
	switch {
	case err != nil:
		e.failed("certificate", "the "+at, err)
	case !found:
		e.add("certificate", Failure, "the "+at+" doesn't exist, so cert-manager doesn't renew the webhook's certificate",
			"restore it with helm upgrade")
	case certificate.Status.NotAfter == nil:
		e.add("certificate", Failure, at+" isn't issued yet",
			"kubectl describe certificate --namespace "+cli.Shown(namespace)+" "+cli.Shown(name)+" shows why")
	default:
		e.expiry("certificate", at, certificate.Status.NotBefore, *certificate.Status.NotAfter)
	}
}

// handshake checks a certificate that cert-manager doesn't make.
func (e *examination) handshake(d *appsv1.Deployment) {
	const metric = "svc_lb_mux_webhook_certificate_expiry_timestamp_seconds"
	isSelfManaged := flagOf(d, reconciler, "--self-managed-secret") != ""
	switch {
	case d.Status.AvailableReplicas == 0:
		e.add("certificate", Unknown, "no pod of the reconciler is ready: the certificate may be the reason",
			"the reconciler's /readyz names it; see docs/certificates.md")
	case isSelfManaged:
		e.add("certificate", OK, "the reconciler renews it, and its TLS handshakes with the webhook succeed", "")
	default:
		e.add("certificate", Unknown, "TLS handshakes of the reconciler with the webhook succeed. The certificate's end is "+
			"unknown: it is provided, and svcmux doesn't read Secrets",
			"the metric "+metric+" has its end")
	}
}
