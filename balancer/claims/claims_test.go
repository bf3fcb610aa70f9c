package claims_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "edge", Name: name}
}

func claimed(name, uid string, addresses ...string) claims.Mux {
	mux := claims.Mux{Key: named(name), UID: types.UID(uid), Seat: 7}
	for _, a := range addresses {
		mux.Addresses = append(mux.Addresses, addr(a))
	}
	return mux
}

func TestRecreatedMuxKeepsItsClaimUnderTheNewUID(t *testing.T) {
	before := claims.Claims{Pool: "p"}.Hold(claimed("web", "old", "192.0.2.1"))
	released := before.Release(named("web"), noon)
	for name, c := range map[string]claims.Claims{"held": before, "in its grace": released} {
		again := claimed("web", "new", "192.0.2.1")
		if diff := cmp.Diff([]claims.Mux{again}, c.Hold(again).Muxes, compareAddr()); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

func TestReleasedAddressesStayReservedForTheGrace(t *testing.T) {
	c := claims.Claims{Pool: "p"}.Hold(claimed("web", "1", "192.0.2.1")).Hold(claimed("api", "2", "192.0.2.2"))
	c = c.Release(named("web"), noon)
	c = c.Release(named("web"), noon.Add(time.Minute)) // doesn't start the grace again
	early := c.Expire(noon.Add(time.Hour-1), time.Hour)
	if mux, found := early.Find(named("web")); !found || mux.IsHeld() {
		t.Errorf("before the grace ends: %+v, %t", mux, found)
	}
	expired := c.Expire(noon.Add(time.Hour), time.Hour)
	if _, found := expired.Find(named("web")); found {
		t.Error("the claim is there after the grace")
	}
	if _, found := expired.Find(named("api")); !found {
		t.Error("a held claim expired")
	}
	if _, found := c.Find(named("web")); !found {
		t.Error("Expire changed the claims that it was given")
	}
}

func shownOn(name, uid string, age time.Duration, addresses ...string) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: name, UID: types.UID(uid),
		CreationTimestamp: metav1.NewTime(noon.Add(-age))}}
	for _, a := range addresses {
		svc.Status.LoadBalancer.Ingress = append(svc.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: a})
	}
	return svc
}

func TestClaimsAreRebuiltFromStatuses(t *testing.T) {
	empty := claims.Claims{Pool: "p", Seats: []claims.Seat{{RouterID: 7, Order: []string{"a"}}},
		Gateways: []claims.Gateway{{Name: "a"}}}
	want := empty.Hold(claimed("web", "1", "192.0.2.1", "2001:db8::1")).Hold(claimed("api", "2", "192.0.2.2"))
	got := claims.Rebuild(empty, []*corev1.Service{
		shownOn("thief", "3", time.Hour, "192.0.2.1"),
		shownOn("web", "1", 2*time.Hour, "2001:db8::1", "192.0.2.1"),
		shownOn("api", "2", time.Hour, "192.0.2.2", "not an address"),
		shownOn("new", "4", time.Hour),
	})
	if diff := cmp.Diff(want, got, compareAddr()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func compareAddr() cmp.Option { return cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}) }
