package guard

import (
	"context"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lookForIssuer asks for the Issuer itself: cert-manager's Certificate doesn't say that it isn't there, and tells of it in
// a CertificateRequest alone, once there is one. An issuer that we may not read, or of a kind that isn't
// cert-manager's own, is taken to be there.
func (g *Guard) lookForIssuer(ctx context.Context, c *certificate) {
	c.issuerLost = false
	crt, ok := c.object.(*cmapi.Certificate)
	if !ok {
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
	within, cancel := context.WithTimeout(ctx, ask)
	defer cancel()
	c.issuerLost = apierrors.IsNotFound(g.options.Client.Get(within, key, issuer))
}
