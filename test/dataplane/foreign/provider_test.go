package foreign

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// Cilium's field manager, and its load balancer class.
const (
	ciliumManager = "cilium-operator-lb-ipam"
	ciliumClass   = "io.cilium/l2-announcer"
)

// TestProvider starts, stops and restarts a provider beside muxes. Each mux has its own pool: at its start, Cilium
// assigns addresses before it has read which are taken. If two muxes shared a pool, a new mux could get the other's
// address.
func TestProvider(t *testing.T) {
	w := start(t)
	city := pool{"city", "203.0.113.10", "203.0.113.19"}
	harbour := pool{"harbour", "203.0.113.20", "203.0.113.29"}

	// The provider gives the mux an address, and every channel shows it.
	w.Apply(t, city.manifest()+harbour.manifest()+mux("city", "")+w.channel(t, "web", "city")+w.channel(t, "api", "city"))
	w.gives(t, "city", city)
	w.show(t, "city", "web", "api")
	w.answers(t, "web", "api")

	// The provider stops. Shown addresses stay. A new channel needs only the mux's address, but a new mux needs the
	// provider.
	before := w.look(t, "web", "api")
	stream := w.stream(t, "web", "api")
	if err := w.provider.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Apply(t, w.channel(t, "late", "city")+mux("harbour", "loadBalancerClass: "+ciliumClass)+w.channel(t, "boat",
		"harbour"))
	w.show(t, "city", "late")
	w.answers(t, "late")
	w.waits(t, "boat")

	// The provider restarts, and processes all Services again.
	if err := w.provider.Start(); err != nil {
		t.Fatal(err)
	}
	w.gives(t, "harbour", harbour)
	w.show(t, "harbour", "boat")
	w.answers(t, "boat")
	w.hasSeenAll(t)
	stream.check(t, "web", "api")
	if diff := cmp.Diff(before, w.look(t, "web", "api")); diff != "" {
		t.Errorf("channels changed while the provider restarted (-before +after):\n%s", diff)
	}

	// The provider gives the mux another address, and every channel follows.
	moved := pool{"city", "203.0.113.30", "203.0.113.39"}
	w.Apply(t, moved.manifest())
	w.gives(t, "city", moved)
	w.show(t, "city", "web", "api", "late")
	w.answers(t, "web", "api", "late")
	w.leftAlone(t, "web", "api", "late", "boat")
}

// gives waits until the mux has one address of the pool, and the provider's condition confirms it.
func (w *world) gives(t *testing.T, mux string, from pool) {
	t.Helper()
	cluster.Eventually(t, "mux "+mux+" has an address of its pool", func(context.Context) error {
		svc := w.get(t, infra, mux)
		shown := addresses(svc)
		if len(shown) != 1 {
			return fmt.Errorf("addresses %v; the provider's conditions: %v", shown, svc.Status.Conditions)
		}
		if ip, err := netip.ParseAddr(shown[0]); err != nil || !from.contains(ip) {
			return fmt.Errorf("%s isn't between %s and %s", shown[0], from.first, from.last)
		}
		return nil
	})
	if managers := managers(w.get(t, infra, mux)); !slices.Contains(managers, ciliumManager) {
		t.Errorf("the address of mux %s isn't the provider's: its writers are %v", mux, managers)
	}
}

// show waits until channels are programmed and show their mux's address. Its mode must be Proxy, so that nodes don't
// intercept it.
func (w *world) show(t *testing.T, mux string, channels ...string) {
	t.Helper()
	for _, name := range channels {
		cluster.Eventually(t, name+" shows the address of "+mux, func(context.Context) error {
			svc := w.get(t, shop, name)
			var want []string
			for _, address := range addresses(w.get(t, infra, mux)) {
				want = append(want, address+" Proxy")
			}
			if got := addresses(svc); len(want) == 0 || !slices.Equal(got, want) {
				return fmt.Errorf("shows %v, want %v", got, want)
			}
			if got := conditions(svc); got != "Accepted True, BackendsReady True, Programmed True" {
				return fmt.Errorf("conditions: %s", got)
			}
			return nil
		})
	}
}

// waits waits until a channel has everything except an address.
func (w *world) waits(t *testing.T, channel string) {
	t.Helper()
	cluster.Eventually(t, channel+" waits for an address", func(context.Context) error {
		svc := w.get(t, shop, channel)
		if got := conditions(svc); got != "Accepted True, BackendsReady True, Programmed False" {
			return fmt.Errorf("conditions: %s", got)
		}
		if shown := addresses(svc); len(shown) != 0 {
			t.Fatalf("channel %s shows %v although its mux has no address", channel, shown)
		}
		return nil
	})
}

// look returns channels with everything visible, including the writers of their fields.
func (w *world) look(t *testing.T, channels ...string) []*corev1.Service {
	t.Helper()
	var seen []*corev1.Service
	for _, name := range channels {
		seen = append(seen, w.get(t, shop, name))
	}
	return seen
}

// hasSeenAll waits until the provider has processed all Services since its start. It processes them in turn, so a new
// Service gets its address after all older ones.
func (w *world) hasSeenAll(t *testing.T) {
	t.Helper()
	w.Apply(t, `{apiVersion: v1, kind: Service, metadata: {name: ordinary, namespace: `+shop+`, labels: {pool: city}},
		spec: {type: LoadBalancer, ports: [{name: http, port: 80}]}}`)
	cluster.Eventually(t, "an ordinary Service has an address", func(context.Context) error {
		if len(addresses(w.get(t, shop, "ordinary"))) == 0 {
			return fmt.Errorf("none yet")
		}
		return nil
	})
}

// leftAlone checks that the provider never wrote to a channel.
func (w *world) leftAlone(t *testing.T, channels ...string) {
	t.Helper()
	for _, name := range channels {
		if managers := managers(w.get(t, shop, name)); slices.Contains(managers, ciliumManager) {
			t.Errorf("the writers of channel %s are %v: the provider must leave its class alone", name, managers)
		}
	}
}
