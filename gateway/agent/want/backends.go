package want

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
	"nowake.ai/svc-lb-mux/validation"
)

// slicePort identifies the slices of one port of a mux.
type slicePort struct {
	name     string
	protocol corev1.Protocol
	family   discoveryv1.AddressType
}

// sliceIndex has our slices by mux and port.
type sliceIndex map[types.NamespacedName]map[slicePort][]*discoveryv1.EndpointSlice

func indexSlices(keys validation.Keys, list []*discoveryv1.EndpointSlice) sliceIndex {
	index := sliceIndex{}
	for _, slice := range list {
		if !muxslices.IsOurSlice(keys, slice) {
			continue
		}
		mux := muxslices.MuxOfSlice(keys, slice)
		if index[mux] == nil {
			index[mux] = map[slicePort][]*discoveryv1.EndpointSlice{}
		}
		for _, port := range slice.Ports {
			if key, usable := keyOf(port, slice.AddressType); usable {
				index[mux][key] = append(index[mux][key], slice)
			}
		}
	}
	return index
}

func keyOf(port discoveryv1.EndpointPort, family discoveryv1.AddressType) (slicePort, bool) {
	key := slicePort{protocol: corev1.ProtocolTCP, family: family}
	if port.Name != nil {
		key.name = *port.Name
	}
	if port.Protocol != nil {
		key.protocol = *port.Protocol
	}
	return key, port.Port != nil && *port.Port > 0 && *port.Port < 1<<16
}

// of returns the slices of a mux's port. The mux must own them: an owner must be in the slice's namespace, so a user without rights there
// can't forge such a slice.
func (i sliceIndex) of(mux *corev1.Service, key slicePort) []*discoveryv1.EndpointSlice {
	all := i[types.NamespacedName{Namespace: mux.Namespace, Name: mux.Name}][key]
	forged := func(s *discoveryv1.EndpointSlice) bool { return !slices.Contains(muxslices.OwnersOfSlice(s), mux.UID) }
	if !slices.ContainsFunc(all, forged) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), forged)
}

// candidates are the backends of a port.
type candidates struct {
	down     func(Backend) bool
	ready    []candidate
	draining []candidate // those that still serve while they terminate
}

type candidate struct {
	Backend
	isNear bool // on this gateway's node
	weight weight
}

// slots returns the backends of a port, sorted, so that they are alike on every gateway: ready ones, or else draining ones.
// With the traffic policy Local, those on this gateway's node are preferred, and gateways differ.
func (d *deciding) slots(mux types.NamespacedName, port validation.MuxRange, list []*discoveryv1.EndpointSlice, local bool) []Backend {
	c := candidates{down: d.isDown(port.Protocol)}
	bad := map[string]string{} // a backend for each fault
	for _, slice := range list {
		number, weight := numberOf(slice, port.Name, port.Protocol), weightOf(d.Keys, slice)
		for i := range slice.Endpoints {
			to := c.of(&slice.Endpoints[i].Conditions)
			if to == nil || len(slice.Endpoints[i].Addresses) == 0 {
				continue
			}
			text := slice.Endpoints[i].Addresses[0]
			address, _ := netip.ParseAddr(text)
			why := d.badBackend(address)
			if why == "" && d.isOnGateway(&slice.Endpoints[i], address) {
				why = onGateway
			}
			if why == "" && (slice.AddressType == discoveryv1.AddressTypeIPv4) != address.Is4() {
				why = "it isn't of its slice's address type"
			}
			if why == "" {
				*to = append(*to, candidate{Backend{address, number}, d.isNear(&slice.Endpoints[i]), weight})
				if d.Settings.Probes && port.Protocol == corev1.ProtocolTCP {
					d.backends[Backend{address, number}] = true
				}
			} else if before, there := bad[why]; !there || text < before {
				bad[why] = text
			}
		}
	}
	for why, text := range bad {
		d.refuse(mux, port.Name, BadBackend, fmt.Sprintf("backend %s isn't used: %s", text, why))
	}
	return c.choose(local)
}

// isNear is true for an endpoint on this gateway's node.
func (d *deciding) isNear(e *discoveryv1.Endpoint) bool {
	return d.Settings.Node != "" && e.NodeName != nil && *e.NodeName == d.Settings.Node
}

// isDown returns a function that is true for backends that don't answer probes, as the claims say. Only TCP is probed.
func (d *deciding) isDown(protocol corev1.Protocol) func(Backend) bool {
	return func(b Backend) bool {
		_, found := slices.BinarySearchFunc(d.Claims.Down, netip.AddrPortFrom(b.Address, b.Port), netip.AddrPort.Compare)
		return found && protocol == corev1.ProtocolTCP
	}
}

// choose returns the backends that are used, sorted. Those that don't answer probes are left out, unless they are more than half: then the
// probes are more probably wrong than the backends.
func (c *candidates) choose(local bool) []Backend {
	usable := c.ready
	if len(usable) == 0 {
		usable = c.draining
	}
	slices.SortFunc(usable, func(a, b candidate) int { return compareBackends(a.Backend, b.Backend) })
	all := slices.CompactFunc(usable, func(a, b candidate) bool { return a.Backend == b.Backend })
	isDown := func(b candidate) bool { return c.down(b.Backend) }
	if up := slices.DeleteFunc(slices.Clone(all), isDown); 2*len(up) >= len(all) {
		all = up
	}
	isFar := func(b candidate) bool { return !b.isNear }
	if near := slices.DeleteFunc(slices.Clone(all), isFar); local && len(near) > 0 {
		all = near
	}
	return weighted(all)
}

func compareBackends(a, b Backend) int {
	return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port))
}

func numberOf(slice *discoveryv1.EndpointSlice, name string, protocol corev1.Protocol) uint16 {
	for _, port := range slice.Ports {
		if key, usable := keyOf(port, slice.AddressType); usable && key.name == name && key.protocol == protocol {
			return uint16(*port.Port)
		}
	}
	return 0
}

// of returns the list that an endpoint belongs to; nil for an endpoint that gets no connections. Without the condition ready, an endpoint
// is ready.
func (c *candidates) of(is *discoveryv1.EndpointConditions) *[]candidate {
	switch {
	case is.Ready == nil || *is.Ready:
		return &c.ready
	case is.Serving != nil && *is.Serving && is.Terminating != nil && *is.Terminating:
		return &c.draining
	}
	return nil
}

// badBackend says why no packet may go to an address; nothing if it may.
func (d *deciding) badBackend(a netip.Addr) string {
	switch {
	case !a.IsValid() || a.Zone() != "" || a.Is4In6():
		return "it isn't an IP address"
	case a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "loopback, link-local, multicast and unspecified addresses are no backends"
	case slices.Contains(d.Settings.Own, a) || slices.Contains(d.Settings.Source, a):
		return "it is an address of gateway " + d.Settings.Gateway + ": run backends on other machines, or in the pod network"
	case d.taken[a]:
		return "it is an address of a mux"
	case len(d.Settings.BackendNetworks) > 0 &&
		!slices.ContainsFunc(d.Settings.BackendNetworks, func(n netip.Prefix) bool { return n.Contains(a) }):
		return "it is outside of --backend-networks: add its network there"
	}
	return ""
}
