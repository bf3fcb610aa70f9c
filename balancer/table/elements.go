package table

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/want"
)

// place is where an element is: its key and, in an interval set, the last key of its range.
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

// elementsOf returns the elements that a family must have, and what its services share.
func (f family) elementsOf(tables *want.Tables) (elements, *uses) {
	all, shared := elements{}, newUses()
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
	services, slots := f.servicesOf(tables.Services), 0
	for i := range services {
		slots += len(services[i].Slots)
	}
	for set, room := range map[string]int{setServices: len(services), setTraffic: len(services), setSlots: slots} {
		all[set] = make(map[place]content, room) // growing them takes longer than filling them
	}
	for i := range services {
		all.addService(&services[i])
	}
	shared.count(services, returnsHere(tables), 1)
	shared.addTo(all, shared, services)
	return all, shared
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

// returnsHere says for each mux's address whether backends answer to that address, as with the return path routed. Then
// the answers to another gateway's requests may come to this machine.
func returnsHere(tables *want.Tables) map[netip.Addr]bool {
	here := map[netip.Addr]bool{}
	for i := range tables.Addresses {
		here[tables.Addresses[i].Address] = tables.Addresses[i].Source == tables.Addresses[i].Address
	}
	return here
}

func (e elements) addService(s *want.Service) {
	set, traffic, lists, at := setServices, setTraffic, setLists, place{key: key(s.Address, s.Protocol, s.First)}
	if s.IsRange() {
		set, traffic, lists, at.end = setRanges, setRangeTraffic, setRangeLists, key(s.Address, s.Protocol, s.Last)
	}
	e.add(set, at, content{chain: choiceOf(s).chain()})
	e.add(traffic, at, content{})
	if len(s.Sources) > 0 {
		e.add(lists, at, content{data: slot(0) + listOf(s.Sources)})
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
		from := sender{s.Address, s.Protocol}.key() + slot(i)
		e.add(setRangeSlots, place{from + port(w.first), from + port(w.last)},
			content{data: string(b.Address.AsSlice()) + port(w.lowest) + port(w.highest)})
	}
}

// addNetworks adds the networks of a list.
func (e elements) addNetworks(list string, networks []netip.Prefix) {
	for _, network := range networks {
		first := network.Masked().Addr().AsSlice()
		e.add(setNetworks, place{list + string(first), list + string(lastOf(network))}, content{})
	}
}

// listOf returns the name of a list of networks: 128 bits of a hash. Nobody can find another list with the same name,
// to let clients into another channel. The name doesn't depend on what the kernel holds, so a restarted agent finds the
// lists that are there.
func listOf(networks []netip.Prefix) string {
	hash := sha256.New()
	for _, network := range networks {
		hash.Write(network.Masked().Addr().AsSlice())
		hash.Write([]byte{byte(network.Bits())})
	}
	return string(hash.Sum(nil)[:listLen])
}

const listLen = 16

// key is address . protocol . port. Each part takes whole 32-bit words.
func key(address netip.Addr, protocol corev1.Protocol, number uint16) string {
	return sender{address, protocol}.key() + port(number)
}

// key is address . protocol.
func (s sender) key() string {
	return string(s.address.AsSlice()) + string([]byte{protocolNumber(s.protocol), 0, 0, 0})
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
