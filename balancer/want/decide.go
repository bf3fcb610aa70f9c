package want

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// deciding is a decision in the making.
type deciding struct {
	*World
	muxes    map[types.NamespacedName]*corev1.Service
	slices   sliceIndex
	contents map[*Slice]*content
	carried  []carried
	taken    map[netip.Addr]bool // addresses of claims and muxes: no backend may have one
	backends map[Backend]bool    // those to probe
	refusals []Refusal
}

// carried is an address that this gateway carries for a mux.
type carried struct {
	address netip.Addr
	mux     types.NamespacedName
	seat    uint8
	// service is nil if the mux isn't in the list.
	service *corev1.Service
}

// Decide returns what the kernel must hold.
func Decide(w *World) Decision {
	if unread := w.unread(); len(unread) > 0 {
		return Decision{Wanted: w.Before, Unread: unread}
	}
	d := deciding{World: w, muxes: map[types.NamespacedName]*corev1.Service{}, taken: map[netip.Addr]bool{},
		backends: map[Backend]bool{},
		contents: map[*Slice]*content{}}
	for _, mux := range w.Muxes.Items {
		d.muxes[types.NamespacedName{Namespace: mux.Namespace, Name: mux.Name}] = mux
	}
	d.slices = indexSlices(w.Keys, w.Slices.Items)
	d.findAddresses()
	var wanted Wanted
	var drafts []draft
	for _, c := range d.carried {
		source, usable := d.sourceFor(c)
		wanted.Tables.Addresses = append(wanted.Tables.Addresses, Address{Address: c.address, Mux: c.mux, Source: source})
		if usable {
			drafts = append(drafts, d.servicesOf(c)...)
		}
	}
	slices.SortFunc(wanted.Tables.Addresses, func(a, b Address) int { return a.Address.Compare(b.Address) })
	wanted.Tables.Services = d.fill(d.withoutExcess(d.withoutOverlaps(drafts)))
	wanted.Seats = d.seats()
	return Decision{Wanted: &wanted, Refusals: d.sortedRefusals(), Backends: d.backends}
}

// unread returns what must be read before anything can be decided. An empty list counts as unread where it contradicts
// other news: an API server that is restored from a backup, or a proxy with a fault, can answer with one.
func (w *World) unread() []string {
	var unread []string
	if w.Claims == nil {
		unread = append(unread, "claims")
	}
	if !w.Muxes.IsRead {
		unread = append(unread, "muxes")
	}
	if !w.Slices.IsRead {
		unread = append(unread, "slices")
	}
	if len(unread) > 0 {
		return unread
	}
	if held := w.held(); held > 0 && len(w.Muxes.Items) == 0 {
		unread = append(unread, fmt.Sprintf("muxes: the list is empty, but the claims hold %d muxes", held))
	}
	if len(w.Slices.Items) == 0 && w.lacksBackends() {
		unread = append(unread, "slices: the list is empty, but muxes still have ports that had backends")
	}
	return unread
}

func (w *World) held() int {
	held := 0
	for i := range w.Claims.Muxes {
		if w.Claims.Muxes[i].IsHeld() {
			held++
		}
	}
	return held
}

// lacksBackends is true if a mux still has a number that had backends before. When the last channel goes, its slices
// go, and the reconciler takes its ports off the mux: then an empty list of slices contradicts nothing.
func (w *World) lacksBackends() bool {
	if w.Before == nil {
		return false
	}
	ports := map[types.NamespacedName][]validation.MuxRange{}
	for _, mux := range w.Muxes.Items {
		ports[types.NamespacedName{Namespace: mux.Namespace, Name: mux.Name}] = portsOf(w.Keys, mux)
	}
	return slices.ContainsFunc(w.Before.Tables.Services, func(s Service) bool {
		return len(s.Slots) > 0 && slices.ContainsFunc(ports[s.Mux], func(p validation.MuxRange) bool {
			return p.Protocol == s.Protocol && p.Run.First <= int32(s.Last) && int32(s.First) <= p.Run.Last
		})
	})
}

// sourceFor returns the source address that backends see, and false if a needed one is missing.
func (d *deciding) sourceFor(c carried) (netip.Addr, bool) {
	switch d.Settings.ReturnPath {
	case ViaRouted:
		return c.address, true
	case ViaGateway:
		return netip.Addr{}, true
	case ViaNode:
		sameFamily := func(own netip.Addr) bool { return own.Is4() == c.address.Is4() }
		if i := slices.IndexFunc(d.Settings.Source, sameFamily); i >= 0 {
			return d.Settings.Source[i], true
		}
		if slices.ContainsFunc(d.Settings.Own, func(own netip.Addr) bool {
			return sameFamily(own) && own.IsGlobalUnicast()
		}) {
			return leavingThrough(c.address), true
		}
		d.refuse(c.mux, "", NoSource, fmt.Sprintf("address %s isn't carried: gateway %s has no address of its family: give "+
			"it one, or set returnPath: routed", c.address, d.Settings.Gateway))
		return netip.Addr{}, false
	}
	d.refuse(c.mux, "", UnknownReturn,
		fmt.Sprintf("returnPath %q is none of node, routed and gateway", d.Settings.ReturnPath))
	return netip.Addr{}, false
}

// leavingThrough returns 0.0.0.0 or ::, which stands for the address of the interface through which a packet leaves. So
// replies come back through that interface, as tunnels between machines need.
func leavingThrough(family netip.Addr) netip.Addr {
	if family.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}
