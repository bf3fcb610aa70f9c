package line

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

// TestTheBoardIsFullThoughAWriteIsRefused: slices of listeners that are gone stay until the board is full, on all
// Gateways.
func TestTheBoardIsFullThoughAWriteIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*gatewayv1.Gateway)
		refuses string // the kind of object
		isFull  bool
	}{
		"the status of a route":     {func(*gatewayv1.Gateway) {}, "TCPRoute", true},
		"the status of the Gateway": {wantsLabel, "Gateway", true},
		"the deletion of a former mux": {func(g *gatewayv1.Gateway) { g.Spec.GatewayClassName = "other" },
			"Service", true},
		"nothing, and the GatewayClass is missing": {func(g *gatewayv1.Gateway) { g.Spec.GatewayClassName = "nothing" }, "",
			false},
		"nothing, and another GatewayClass is ours": {func(g *gatewayv1.Gateway) { g.Spec.GatewayClassName = "other" }, "",
			true},
	} {
		t.Run(name, func(t *testing.T) {
			u := newServed(t, read.Template{})
			clear(u.line.passed) // as in a process that starts
			route := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}
			route.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "edge"}}
			u.api.Put(route, true)
			u.edit(test.change)
			refused := 0
			u.api.Answer = func(before, _ client.Object) (bool, error) {
				if gatewaytest.KindOf(before) != test.refuses {
					return true, nil
				}
				refused++
				return false, apierrors.NewForbidden(corev1.Resource("objects"), before.GetName(), errors.New("a policy says no"))
			}
			_, err := u.line.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "edge"}})
			if (err != nil) != (test.refuses != "") || refused > 1 {
				t.Fatalf("the pass ends with %v", err)
			}
			if full, err := u.line.isFull(t.Context()); full != test.isFull || err != nil {
				t.Errorf("every Gateway is on the board: %t, %v", full, err)
			}
		})
	}
}
