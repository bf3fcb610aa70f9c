package line

import (
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/status"
)

// TestAPassWritesRoutesFirst has a Gateway with three routes and two ListenerSets, and a pass that writes three
// statuses. A route that can't be written doesn't take the place of another object.
func TestAPassWritesRoutesFirst(t *testing.T) {
	u := newUnserved(t, "mux")
	u.line.WritesOfAPass = 3
	var wrote []string
	u.api.Answer = func(_, after client.Object) (bool, error) {
		if after.GetName() == "refused" {
			return false, errors.New("a policy says no")
		}
		wrote = append(wrote, after.GetName())
		return true, nil
	}
	edge := gatewayv1.ParentReference{Name: "edge"}
	for _, name := range []string{"refused", "route-a", "route-b"} {
		route := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		route.Spec.ParentRefs = []gatewayv1.ParentReference{edge}
		u.api.Put(route, true)
	}
	for _, name := range []string{"set-a", "set-b"} {
		set := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		set.Spec.ParentRef.Name = "edge"
		u.api.Put(set, true)
	}
	pass := func() time.Duration {
		t.Helper()
		observed := &read.Observed{Gateway: u.gateway()}
		for _, name := range []string{"refused", "route-a", "route-b"} {
			route, _ := read.RouteOf(gatewaytest.Get[*gatewayv1.TCPRoute](u.api.Shelf, "shop", name))
			observed.Routes = append(observed.Routes, route)
		}
		for _, name := range []string{"set-a", "set-b"} {
			observed.Sets = append(observed.Sets, gatewaytest.Get[*gatewayv1.ListenerSet](u.api.Shelf, "shop", name))
		}
		again, err := u.line.publish(t.Context(), &status.Given{Served: read.Judge(observed), Now: u.now})
		if err == nil {
			t.Error("the refused write isn't told")
		}
		return again
	}
	if again := pass(); again != quiet || !slices.Equal(wrote, []string{"edge", "route-a", "route-b"}) {
		t.Errorf("the first pass writes %q, and the next one comes after %s", wrote, again)
	}
	if again := pass(); again != 0 || !slices.Equal(wrote[3:], []string{"set-a", "set-b"}) {
		t.Errorf("then %q are written, and the next pass comes after %s", wrote[3:], again)
	}
}
