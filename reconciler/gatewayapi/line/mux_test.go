package line

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// newServed is an API server with the Gateway shop/edge, and a process that serves it. The Gateway has its mux.
func newServed(t *testing.T, of read.Template) *unserved {
	t.Helper()
	u := newUnserved(t, "mux")
	u.line.Namespaces = []string{"shop"}
	u.line.kinds = run.Kinds{"Gateway", "GatewayClass", "ListenerSet", "ReferenceGrant", "TCPRoute", "UDPRoute"}
	u.line.templates["mux"] = template{Template: of}
	u.line.Board.WakeMux, u.line.Board.WakeBackends = func(types.NamespacedName) {}, func([]types.NamespacedName) {}
	u.line.Board.connect(func(context.Context, types.NamespacedName, types.NamespacedName) (*plan.ObservedChannel, error) {
		return nil, nil
	}, func(types.NamespacedName) {})
	if err := u.line.index(t.Context(), u.cache); err != nil {
		t.Fatal(err)
	}
	u.edit(func(g *gatewayv1.Gateway) {
		g.Spec.Listeners = []gatewayv1.Listener{{Name: "a", Port: 80, Protocol: gatewayv1.TCPProtocolType}}
	})
	u.pass(t)
	if u.mux() == nil {
		t.Fatal("the Gateway has no mux")
	}
	return u
}

func (u *unserved) mux() *corev1.Service {
	return gatewaytest.Get[*corev1.Service](u.api.Shelf, "shop", "gateway-edge")
}

// edit changes the Gateway's spec as its owner does.
func (u *unserved) edit(change func(*gatewayv1.Gateway)) {
	gateway := u.gateway().DeepCopy()
	change(gateway)
	u.api.Put(gateway, true)
}

func wantsLabel(g *gatewayv1.Gateway) {
	g.Spec.Infrastructure = &gatewayv1.GatewayInfrastructure{
		Labels: map[gatewayv1.LabelKey]gatewayv1.LabelValue{"team": "red"}}
}

func TestARefusedChangeOfAMuxIsTold(t *testing.T) {
	u := newServed(t, read.Template{})
	u.api.Answer = func(_, after client.Object) (bool, error) {
		if svc, is := after.(*corev1.Service); is {
			return false, apierrors.NewForbidden(corev1.Resource("services"), svc.Name, errors.New("a policy says no"))
		}
		return true, nil
	}
	u.edit(wantsLabel)
	u.edit(func(g *gatewayv1.Gateway) {
		g.Spec.Listeners = append(g.Spec.Listeners,
			gatewayv1.Listener{Name: "b", Port: 81, Protocol: gatewayv1.TCPProtocolType})
	})
	if again := u.pass(t); again != takenPause ||
		!strings.HasPrefix(u.accepted(), "False InvalidParameters: Service shop/gateway-edge can't be changed: ") ||
		!strings.HasSuffix(u.accepted(), "a policy says no") {
		t.Errorf("the Gateway says %s, and is looked at again after %s", u.accepted(), again)
	}
	if on := u.line.Board.On(client.ObjectKeyFromObject(u.mux())); len(on) != 2 {
		t.Errorf("%d listeners are served, want 2", len(on))
	}
	u.api.Answer = func(_, _ client.Object) (bool, error) { return true, nil }
	if u.pass(t); u.mux().Labels["team"] != "red" || !strings.HasPrefix(u.accepted(), "True") {
		t.Errorf("once it isn't refused any more: labels %v, %s", u.mux().Labels, u.accepted())
	}
}

func TestChangesOfAMuxThatAnotherWriterUndoesSlowDown(t *testing.T) {
	u := newServed(t, read.Template{})
	u.edit(wantsLabel)
	corrected := 0
	quarrel := func(passes int) (again time.Duration) {
		for range passes {
			svc := u.mux().DeepCopy()
			svc.Labels["team"] = "blue"
			u.api.Put(svc, false)
			again = u.pass(t)
			if u.mux().Labels["team"] == "red" {
				corrected++
			}
		}
		return again
	}
	if again := quarrel(100); corrected != 2 || again != time.Second {
		t.Errorf("%d of 100 passes without a pause write the mux, and the next one is after %s", corrected, again)
	}
	if u.now = u.now.Add(time.Second); quarrel(10) != 2*time.Second || corrected != 3 {
		t.Errorf("after a second, it is written %d times", corrected)
	}
	u.edit(func(g *gatewayv1.Gateway) { g.Spec.Infrastructure.Labels["team"] = "green" })
	if u.pass(t); u.mux().Labels["team"] != "green" {
		t.Error("another wish of the Gateway waits")
	}
}

func TestAnAddressIsTakenBack(t *testing.T) {
	u := newServed(t, read.Template{Spec: corev1.ServiceSpec{LoadBalancerClass: ptr.To("gateway.svc-mux.nowake.ai/rack")}})
	address := func() string { return u.mux().Annotations[u.line.keys.Address] }
	for _, want := range []string{"192.0.2.10", "192.0.2.11", ""} {
		u.edit(func(g *gatewayv1.Gateway) {
			if g.Spec.Addresses = nil; want != "" {
				g.Spec.Addresses = []gatewayv1.GatewaySpecAddress{{Value: want}}
			}
		})
		u.pass(t)
		if _, has := u.mux().Annotations[u.line.keys.Address]; address() != want || has != (want != "") {
			t.Errorf("the mux asks for %q, want %q", address(), want)
		}
	}
	before := u.api.Wrote
	if u.pass(t); u.api.Wrote != before {
		t.Error("it is written again")
	}
}

// TestAnAddressForAMuxOfAProviderIsRefusedOnceItIsMade: the reconciler may not write spec.loadBalancerIP of a Service
// that is there.
func TestAnAddressForAMuxOfAProviderIsRefusedOnceItIsMade(t *testing.T) {
	u := newServed(t, read.Template{})
	ask := func(addresses ...gatewayv1.GatewaySpecAddress) string {
		u.edit(func(g *gatewayv1.Gateway) { g.Spec.Addresses = addresses })
		u.pass(t)
		return u.accepted()
	}
	const want = `False UnsupportedAddress: spec.addresses: Service shop/gateway-edge is there, with loadBalancerIP "", ` +
		`which can't be changed to 192.0.2.10: ` +
		"take spec.addresses back, or delete the Service, and it is made again with that address"
	if got := ask(gatewayv1.GatewaySpecAddress{Value: "192.0.2.10"}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := ask(); !strings.HasPrefix(got, "True") {
		t.Errorf("without the address it says %s", got)
	}
	u.api.Drop(u.mux())
	for range 2 {
		if got := ask(gatewayv1.GatewaySpecAddress{Value: "192.0.2.10"}); !strings.HasPrefix(got, "True") ||
			u.mux().Spec.LoadBalancerIP != "192.0.2.10" {
			t.Errorf("a new mux asks for %q, and the Gateway says %s", u.mux().Spec.LoadBalancerIP, got)
		}
	}
}
