package want

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// slicePort identifies the slices of one port of a mux.
type slicePort struct {
	name     string
	protocol corev1.Protocol
	family   discoveryv1.AddressType
}

// source is a slice that has backends of a port, at a number.
type source struct {
	*Slice
	number uint16
}

// sliceIndex has our slices by mux and port.
type sliceIndex map[types.NamespacedName]map[slicePort][]source

func indexSlices(keys validation.Keys, list []*Slice) sliceIndex {
	index := sliceIndex{}
	for _, slice := range list {
		mux, isOurs := slice.mux(keys)
		if !isOurs {
			continue
		}
		if index[mux] == nil {
			index[mux] = map[slicePort][]source{}
		}
		for _, port := range slice.Ports {
			if key, usable := keyOf(port, slice.AddressType); usable {
				index[mux][key] = append(index[mux][key], source{slice, uint16(*port.Port)})
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

// of returns the slices of a mux's port. The mux must own them: an owner must be in the slice's namespace, so a user
// without rights there can't forge such a slice.
func (i sliceIndex) of(mux *corev1.Service, key slicePort) []source {
	all := i[types.NamespacedName{Namespace: mux.Namespace, Name: mux.Name}][key]
	forged := func(s source) bool { return !slices.Contains(s.owners(), mux.UID) }
	if !slices.ContainsFunc(all, forged) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), forged)
}

// candidate is a usable endpoint. As part of a content, it has no port yet.
type candidate struct {
	Backend
	isNear bool // on this gateway's node
	weight *weight
}

// content is what is used of a slice. It is read once, although each port of the slice needs it.
type content struct {
	set         settings
	settingsErr *badSettings
	weight      weight
	ready       []candidate
	draining    []candidate // those that still serve while they terminate
	// allReady and allDraining count the endpoints that this gateway refuses, too.
	allReady, allDraining int
	// bad has an address for each fault.
	bad map[string]string
}

func (d *deciding) contentOf(slice *Slice) *content {
	if c := d.contents[slice]; c != nil {
		return c
	}
	c := &content{weight: weightOf(d.Keys, slice)}
	c.set, c.settingsErr = readSettings(d.Keys, slice)
	for _, endpoint := range slice.Endpoints {
		to, count := &c.ready, &c.allReady
		if endpoint.IsDraining {
			to, count = &c.draining, &c.allDraining
		}
		*count++
		why := d.badBackend(endpoint.Address)
		if why == "" && d.isOnGateway(endpoint) {
			why = onGateway
		}
		if why == "" && (slice.AddressType == discoveryv1.AddressTypeIPv4) != endpoint.Address.Is4() {
			why = "it isn't of its slice's address type"
		}
		if why == "" {
			*to = append(*to, candidate{Backend{Address: endpoint.Address}, d.isNear(endpoint), &c.weight})
			continue
		}
		if c.bad == nil {
			c.bad = map[string]string{}
		}
		text := slice.Unreadable
		if endpoint.Address.IsValid() {
			text = endpoint.Address.String()
		}
		if before, there := c.bad[why]; !there || text < before {
			c.bad[why] = text
		}
	}
	d.contents[slice] = c
	return c
}

// slots returns the backends of a port, sorted, so that they are alike on every gateway: ready ones, or else draining
// ones. With the traffic policy Local, those on this gateway's node are preferred, and gateways differ.
func (d *deciding) slots(s *draft, most int) []Backend {
	var ready, draining []candidate
	bad := map[string]string{}
	for _, from := range s.slices {
		c := d.contentOf(from.Slice)
		ready, draining = withPort(ready, c.ready, from.number), withPort(draining, c.draining, from.number)
		for why, text := range c.bad {
			if before, there := bad[why]; !there || text < before {
				bad[why] = text
			}
		}
	}
	for why, text := range bad {
		d.refuse(s.Mux, s.port.Name, BadBackend, fmt.Sprintf("backend %s isn't used: %s", text, why))
	}
	usable := ready
	if len(usable) == 0 {
		usable = draining
	}
	slices.SortFunc(usable, func(a, b candidate) int { return compareBackends(a.Backend, b.Backend) })
	usable = slices.CompactFunc(usable, func(a, b candidate) bool { return a.Backend == b.Backend })
	usable = usable[:min(len(usable), most)]
	if d.Settings.Probes && s.port.Protocol == corev1.ProtocolTCP {
		for i := range usable {
			d.backends[usable[i].Backend] = true
		}
	}
	return weighted(d.choose(usable, s.port.Protocol, s.local), most)
}

func withPort(to, from []candidate, number uint16) []candidate {
	for _, c := range from {
		c.Port = number
		to = append(to, c)
	}
	return to
}

// isDown returns a function that is true for backends that don't answer probes, as the claims say. Only TCP is probed.
func (d *deciding) isDown(protocol corev1.Protocol) func(Backend) bool {
	return func(b Backend) bool {
		_, found := slices.BinarySearchFunc(d.Claims.Down, netip.AddrPortFrom(b.Address, b.Port), netip.AddrPort.Compare)
		return found && protocol == corev1.ProtocolTCP
	}
}

// choose returns the backends that are used. Those that don't answer probes are left out, unless they are more than
// half: then the probes are more probably wrong than the backends.
func (d *deciding) choose(all []candidate, protocol corev1.Protocol, local bool) []candidate {
	down := d.isDown(protocol)
	isDown := func(b candidate) bool { return down(b.Backend) }
	if up := slices.DeleteFunc(slices.Clone(all), isDown); 2*len(up) >= len(all) {
		all = up
	}
	isFar := func(b candidate) bool { return !b.isNear }
	if near := slices.DeleteFunc(slices.Clone(all), isFar); local && len(near) > 0 {
		all = near
	}
	return all
}

func compareBackends(a, b Backend) int {
	return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port))
}

// badBackend says why no packet may go to an address; nothing if it may.
func (d *deciding) badBackend(a netip.Addr) string {
	switch {
	case !a.IsValid() || a.Zone() != "" || a.Is4In6():
		return "it isn't an IP address"
	case a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() ||
		a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "loopback, link-local, multicast and unspecified addresses are no backends"
	case slices.Contains(d.Settings.Own, a) || slices.Contains(d.Settings.Source, a):
		return "it is an address of gateway " + d.Settings.Gateway + ": run backends on other machines, or in the pod network"
	case d.taken[a]:
		return "it is an address of a mux"
	case d.Claims.Pools.Contains(a):
		return "it is an address of a pool, so packets could go round: " +
			"run backends elsewhere, or exclude the address from the pool"
	case len(d.Settings.BackendNetworks) > 0 &&
		!slices.ContainsFunc(d.Settings.BackendNetworks, func(n netip.Prefix) bool { return n.Contains(a) }):
		return "it is outside of --backend-networks: add its network there"
	}
	return ""
}
