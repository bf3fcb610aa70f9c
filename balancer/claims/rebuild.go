package claims

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/place"
)

// Rebuild derives claims from the muxes' statuses when the ConfigMap is lost. Only the controller writes those
// statuses. The caller passes the muxes of the pool from a live list: a mux that is missing here loses its address. Of
// two muxes that show an address, the older mux gets it.
//
// Seats and gateways aren't in statuses: the caller passes them, and each mux's seat is chosen again by balancer/place.
func Rebuild(empty Claims, muxes []*corev1.Service) Claims {
	rebuilt := Claims{Pool: empty.Pool, Seats: empty.Seats, Gateways: empty.Gateways}
	muxes = slices.SortedFunc(slices.Values(muxes), func(a, b *corev1.Service) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), compareKeys(keyOf(a), keyOf(b)))
	})
	taken := map[netip.Addr]bool{}
	for _, svc := range muxes {
		mux := Mux{Key: keyOf(svc), UID: svc.UID}
		for _, a := range Shown(svc) {
			isSameFamily := func(b netip.Addr) bool { return a.Is4() == b.Is4() }
			if !taken[a] && !slices.ContainsFunc(mux.Addresses, isSameFamily) {
				taken[a] = true
				mux.Addresses = append(mux.Addresses, a)
			}
		}
		if len(mux.Addresses) > 0 {
			mux.Seat, _ = place.Seat(mux.Addresses[0], empty.routerIDs())
			rebuilt = rebuilt.Hold(mux)
		}
	}
	return rebuilt
}

// Shown returns the IP addresses in a mux's status, sorted.
func Shown(svc *corev1.Service) []netip.Addr {
	var shown []netip.Addr
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		if list, err := parseAddresses([]string{ingress.IP}); err == nil {
			shown = append(shown, list...)
		}
	}
	slices.SortFunc(shown, netip.Addr.Compare)
	return shown
}

func (c *Claims) routerIDs() []uint8 {
	ids := make([]uint8, len(c.Seats))
	for i, seat := range c.Seats {
		ids[i] = seat.RouterID
	}
	return ids
}

func keyOf(svc *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}
