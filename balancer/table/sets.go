package table

import (
	"slices"

	"github.com/google/nftables"
)

// Names of sets and maps.
const (
	setAddresses    = "addresses"     // the muxes' addresses
	setServices     = "services"      // address . protocol . port -> chain
	setRanges       = "ranges"        // the same, for ranges of ports
	setSlots        = "slots"         // address . protocol . port . slot -> backend . port
	setRangeSlots   = "range-slots"   // address . protocol . slot . ports -> backend . lowest port . highest port
	setLists        = "lists"         // address . protocol . port -> a word that isn't used . list of networks
	setRangeLists   = "range-lists"   // the same, for ranges of ports
	setNetworks     = "networks"      // list . client: may connect
	setReplies      = "replies"       // backend . protocol . ports: what comes from there is a reply
	setSourcesSeen  = "sources-seen"  // address -> the source address that backends see
	setMasqueraded  = "masqueraded"   // address: backends see the address of the interface through which packets leave
	setTraffic      = "traffic"       // address . protocol . port: counts packets and bytes in both directions
	setRangeTraffic = "range-traffic" // the same, for ranges of ports
)

// set is the definition of a set or a map.
type set struct {
	name string
	key  []nftables.SetDatatype
	// value is empty for a set. A verdict map has nftables.TypeVerdict.
	value []nftables.SetDatatype
	// interval: an element is a range of keys, from one to another in the order of their bytes. To the kernel such a key
	// is a single value: so it keeps the elements in a tree, where each costs the logarithm of their number. In a set
	// whose keys have several fields that are ranges, each element costs as much as all that are there.
	interval bool
	// counter: each element counts the packets that it is found for.
	counter bool
}

// sets returns all sets of a family.
func (f family) sets() []set {
	protocol, port := nftables.TypeInetProto, nftables.TypeInetService
	slot := nftables.TypeMark    // any 32-bit type will do: nft can't print an integer here, and aborts
	list := nftables.TypeIP6Addr // any 128-bit type will do, as above
	found := nftables.MustConcatSetType(slot, list)
	service := []nftables.SetDatatype{f.address, protocol, port}
	verdict := []nftables.SetDatatype{nftables.TypeVerdict}
	and := func(types ...nftables.SetDatatype) []nftables.SetDatatype { return slices.Concat(service, types) }
	one := []nftables.SetDatatype{f.address}
	return []set{
		{name: setAddresses, key: one},
		{name: setServices, key: service, value: verdict, counter: true},
		{name: setRanges, key: service, value: verdict, interval: true, counter: true},
		{name: setSlots, key: and(slot), value: []nftables.SetDatatype{f.address, port}},
		{name: setRangeSlots, key: []nftables.SetDatatype{f.address, protocol, slot, port},
			value: []nftables.SetDatatype{f.address, port, port}, interval: true},
		{name: setLists, key: service, value: []nftables.SetDatatype{found}},
		{name: setRangeLists, key: service, value: []nftables.SetDatatype{found}, interval: true},
		{name: setNetworks, key: []nftables.SetDatatype{list, f.address}, interval: true},
		{name: setReplies, key: service, interval: true},
		{name: setSourcesSeen, key: one, value: one},
		{name: setMasqueraded, key: one},
		{name: setTraffic, key: service, counter: true},
		{name: setRangeTraffic, key: service, interval: true, counter: true},
	}
}

// isVerdictMap is true if elements name a chain.
func (s set) isVerdictMap() bool { return len(s.value) == 1 && s.value[0] == nftables.TypeVerdict }
