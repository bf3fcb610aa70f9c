package table

import (
	"encoding/binary"
	"maps"
	"net/netip"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/gateway/agent/want"
)

// place is where an element is: its key and, in an interval set, the end of its key.
type place struct{ key, end string }

// content is what an element of a map leads to: data, or a chain.
type content struct{ data, chain string }

// elements are the elements of a family's sets, by the name of the set.
type elements map[string]map[place]content

func (e elements) add(set string, at place, what content) {
	if e[set] == nil {
		e[set] = map[place]content{}
	}
	e[set][at] = what
}

// elementsOf returns the elements that a family must have, and the replies that some of them are made from.
func (f family) elementsOf(tables *want.Tables) (elements, replies) {
	all, from := elements{}, replies{}
	for i := range tables.Addresses {
		a := &tables.Addresses[i]
		if !f.has(a.Address) {
			continue
		}
		at := place{key: string(a.Address.AsSlice())}
		all.add(setAddresses, at, content{})
		switch {
		case !f.has(a.Source):
		case a.Source.IsUnspecified():
			all.add(setMasqueraded, at, content{})
		default:
			all.add(setSourcesSeen, at, content{data: string(a.Source.AsSlice())})
		}
	}
	services := f.servicesOf(tables.Services)
	for i := range services {
		all.addService(&services[i])
	}
	from.count(services, returnsHere(tables), 1)
	from.addTo(all, maps.Keys(from))
	return all, from
}

// servicesOf returns the family's services that have backends: the others have no elements.
func (f family) servicesOf(all []want.Service) []want.Service {
	var own []want.Service
	for i := range all {
		if f.has(all[i].Address) && len(all[i].Slots) > 0 {
			own = append(own, all[i])
		}
	}
	return own
}

// returnsHere says for each mux's address whether backends answer to that address, as with the return path routed. Then the answers to
// another gateway's requests may come to this machine.
func returnsHere(tables *want.Tables) map[netip.Addr]bool {
	here := map[netip.Addr]bool{}
	for i := range tables.Addresses {
		here[tables.Addresses[i].Address] = tables.Addresses[i].Source == tables.Addresses[i].Address
	}
	return here
}

func (e elements) addService(s *want.Service) {
	set, traffic, at := setServices, setTraffic, place{key: key(s.Address, s.Protocol, s.First)}
	if s.IsRange() {
		set, traffic, at.end = setRanges, setRangeTraffic, key(s.Address, s.Protocol, s.Last)
	}
	e.add(set, at, content{chain: choiceOf(s).chain()})
	e.add(traffic, at, content{})
	for _, from := range s.Sources {
		e.add(setSources, place{key(s.Address, s.Protocol, s.First) + string(from.Masked().Addr().AsSlice()),
			key(s.Address, s.Protocol, s.Last) + string(lastOf(from))}, content{})
	}
	for i, b := range s.Slots {
		if s.IsRange() {
			e.addRangeSlot(s, i, b)
		} else {
			e.add(setSlots, place{key: at.key + slot(i)}, content{data: string(b.Address.AsSlice()) + port(b.Port)})
		}
	}
}

func (e elements) addRangeSlot(s *want.Service, i int, b want.Backend) {
	for _, w := range windowsOf(s.First, s.Last, b.Port) {
		e.add(setRangeSlots, place{key(s.Address, s.Protocol, w.first) + slot(i), key(s.Address, s.Protocol, w.last) + slot(i)},
			content{data: string(b.Address.AsSlice()) + port(w.lowest) + port(w.highest)})
	}
}

// key is address . protocol . port. Each part takes whole 32-bit words.
func key(address netip.Addr, protocol corev1.Protocol, number uint16) string {
	return string(address.AsSlice()) + string([]byte{protocolNumber(protocol), 0, 0, 0}) + port(number)
}

func port(number uint16) string { return string([]byte{byte(number >> 8), byte(number), 0, 0}) }

func slot(i int) string { return string(binary.NativeEndian.AppendUint32(nil, uint32(i))) }

func protocolNumber(protocol corev1.Protocol) byte {
	switch protocol {
	case corev1.ProtocolUDP:
		return unix.IPPROTO_UDP
	case corev1.ProtocolSCTP:
		return unix.IPPROTO_SCTP
	}
	return unix.IPPROTO_TCP
}

// lastOf returns the last address of a network.
func lastOf(network netip.Prefix) []byte {
	last := network.Masked().Addr().AsSlice()
	for bit := network.Bits(); bit < len(last)*8; bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	return last
}
