package addresses

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
)

// denied returns a controller of one pool with one mux, whose status can't be written.
func denied(t *testing.T, leases ...lease.Gateway) *Controller {
	t.Helper()
	language := testLanguage(t)
	class := language.FormatGatewayClass("p")
	mux := &corev1.Service{ObjectMeta: inNamespace("edge", "web", nil),
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			LoadBalancerClass: &class, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{{Port: 80}}}}
	mux.UID, mux.Annotations = "1", map[string]string{language.Keys().Multiplexer: "true"}
	objects := []client.Object{mux}
	for i := range leases {
		l := &coordinationv1.Lease{ObjectMeta: inNamespace("lb", "", nil)}
		if err := leases[i].Write(l, language.Keys()); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, l)
	}
	k, _ := newKube(t, objects...)
	k.Writer = interceptor.NewClient(k.Writer.(client.WithWatch),
		interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string,
			client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return apierrors.NewForbidden(corev1.Resource("services"), "web", nil)
		}})
	pools, err := config.Parse([]byte("pools: [{name: p, addresses: [192.0.2.1], announce: none}]"))
	if err != nil {
		t.Fatal(err)
	}
	return New(
		Settings{Language: language, Namespace: "lb", Pools: pools, Writes: 1, Now: func() time.Time { return noon }}, k)
}

// A policy that denies one status delays no other mux by more than 30 seconds, and no deadline at all.
func TestStatusThatCannotBeWrittenDelaysNoDeadline(t *testing.T) {
	live := lease.Gateway{Name: "a", Pool: "p", Holder: "a", RenewedAt: noon, Duration: 15 * time.Second,
		Facts: &lease.Facts{}}
	for name, test := range map[string]struct {
		leases []lease.Gateway
		want   time.Duration
	}{
		"nothing is due":                        {nil, 30 * time.Second},
		"a Lease that may become stale in 15 s": {[]lease.Gateway{live}, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c := denied(t, test.leases...)
			retries := c.options().RateLimiter
			var pauses []time.Duration
			for range 30 {
				if _, err := c.Reconcile(t.Context(), everything()); !apierrors.IsForbidden(err) {
					t.Fatalf("the status was written: %v", err)
				}
				pauses = append(pauses, retries.When(everything()))
			}
			if first, last := pauses[0], pauses[len(pauses)-1]; first > time.Second || last != test.want {
				t.Errorf("the pauses grow from %s to %s, and not to %s", first, last, test.want)
			}
		})
	}
}

func TestOnlyNewsOfALeaseWakeTheController(t *testing.T) {
	keys := testLanguage(t).Keys()
	made := func(change func(*lease.Gateway)) *coordinationv1.Lease {
		g := lease.Gateway{Name: "a", Pool: "p", RenewedAt: noon, Duration: 15 * time.Second, Facts: &lease.Facts{},
			Traffic: &lease.Traffic{Over: time.Second}}
		change(&g)
		l := &coordinationv1.Lease{}
		if err := g.Write(l, keys); err != nil {
			t.Fatal(err)
		}
		return l
	}
	for name, test := range map[string]struct {
		change func(*lease.Gateway)
		want   bool
	}{
		"a renewal":     {func(g *lease.Gateway) { g.RenewedAt = noon.Add(time.Second) }, false},
		"other traffic": {func(g *lease.Gateway) { g.Traffic.Over = 2 * time.Second }, false},
		"other facts":   {func(g *lease.Gateway) { g.Facts.Zone = "z" }, true},
		"a report":      {func(g *lease.Gateway) { g.Report = &lease.Report{} }, true},
		"another pool":  {func(g *lease.Gateway) { g.Pool = "q" }, true},
	} {
		c := New(Settings{Language: testLanguage(t), Now: func() time.Time { return noon.Add(time.Second) }}, nil)
		before := made(func(*lease.Gateway) {})
		if g, _ := lease.Read(before, keys); !c.sightings.renewed(&g, noon) {
			t.Fatal("the gateway was live before")
		}
		if got := c.tellsNews(event.UpdateEvent{ObjectOld: before, ObjectNew: made(test.change)}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
