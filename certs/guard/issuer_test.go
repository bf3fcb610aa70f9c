package guard

import (
	"context"
	"slices"
	"testing"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// empty is an API server without objects.
type empty struct {
	client.WithWatch
	asked []string
}

func (e *empty) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	kind := "Issuer"
	if _, is := object.(*cmapi.ClusterIssuer); is {
		kind = "ClusterIssuer"
	}
	e.asked = append(e.asked, kind+" "+key.String())
	return apierrors.NewNotFound(schema.GroupResource{Group: "cert-manager.io", Resource: kind}, key.Name)
}

func TestOnlyCertManagersOwnIssuersAreRead(t *testing.T) {
	for name, tc := range map[string]struct {
		ref   cmmeta.IssuerReference
		asked []string
	}{
		"a name alone is an Issuer": {cmmeta.IssuerReference{Name: "ours"},
			[]string{"Issuer infra/ours"}},
		"a ClusterIssuer": {cmmeta.IssuerReference{Name: "ours", Kind: "ClusterIssuer"},
			[]string{"ClusterIssuer /ours"}},
		"the group may be written out": {cmmeta.IssuerReference{Name: "ours", Kind: "Issuer", Group: "cert-manager.io"},
			[]string{"Issuer infra/ours"}},
		"a kind of another group": {
			cmmeta.IssuerReference{Name: "ours", Kind: "AWSPCAIssuer", Group: "awspca.cert-manager.io"}, nil},
		"another group may call its kind ClusterIssuer": {
			cmmeta.IssuerReference{Name: "ours", Kind: "ClusterIssuer", Group: "ejbca-issuer.keyfactor.com"}, nil},
		"another group may call its kind Issuer": {
			cmmeta.IssuerReference{Name: "ours", Kind: "Issuer", Group: "ejbca-issuer.keyfactor.com"}, nil},
		"a reference without a kind has the other group": {
			cmmeta.IssuerReference{Name: "ours", Group: "ejbca-issuer.keyfactor.com"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := &empty{}
			c := &certificate{known: known{object: &cmapi.Certificate{
				ObjectMeta: metav1.ObjectMeta{Namespace: "infra"}, Spec: cmapi.CertificateSpec{IssuerRef: tc.ref},
			}}}
			(&Guard{options: Options{Client: server}}).checkIssuer(t.Context(), c)
			if !slices.Equal(server.asked, tc.asked) || c.issuerLost != (len(tc.asked) > 0) {
				t.Errorf("asked for %q, issuer lost: %v", server.asked, c.issuerLost)
			}
		})
	}
}
