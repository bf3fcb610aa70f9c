// Package flows changes flows in the kernel's connection tracking: it ends UDP flows to backends that are gone, and
// resumes TCP flows that return from another gateway.
//
//	flows.go   Drop     resume.go  Resume
//
// A flow keeps its backend while packets come. A TCP client of a backend that is gone gets an error and connects again.
// A UDP client gets no error, and goes on sending to the backend that is gone. So the agent deletes such UDP flows, and
// the next packet starts a new flow.
package flows

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Gone is a backend that a UDP service doesn't have any more.
type Gone struct {
	// Address, First and Last are the service's address and numbers.
	Address     netip.Addr
	First, Last uint16
	Backend     netip.Addr
	// Port is the backend's port for the first number. The next number goes to the next port.
	Port uint16
}

// Attributes and messages of ctnetlink.
const (
	newFlow, getFlow, deleteFlow = 0, 1, 2
	tupleOriginal, tupleReply    = 1, 2
	tupleAddresses, tuplePorts   = 1, 2
	sourceIPv4, destinationIPv4  = 1, 2
	sourceIPv6, destinationIPv6  = 3, 4
	protocolNumber               = 1
	sourcePort, destinationPort  = 2, 3
	nested                       = 1 << 15 // flag of an attribute that has attributes
)

// tuple is one direction of a flow.
type tuple struct {
	source, destination netip.Addr
	protocol            byte
	fromPort, port      uint16 // of the source and of the destination
	raw                 []byte
}

// Drop deletes the flows to backends that are gone, and returns how many it deleted. The namespace is a file
// descriptor; 0 is the process's own.
func Drop(namespace int, gone []Gone) (int, error) {
	if len(gone) == 0 {
		return 0, nil
	}
	ended := index(gone)
	return changeEach(namespace, func(family byte, original, reply tuple) (netlink.Message, bool) {
		return message(deleteFlow, netlink.Acknowledge, family, original.raw), ended.has(original, reply)
	})
}

// target is what the gone backends of one address have in common: the backend's address, and its port minus the mux's
// number.
type target struct {
	address, backend netip.Addr
	offset           uint16
}

// span is a range of a mux's numbers.
type span struct{ first, last uint16 }

// targets has the numbers of each target, as spans that are sorted and don't overlap. The table may hold 100,000 flows,
// and 10,000 backends may be gone: so a flow isn't compared with each backend.
type targets map[target][]span

func index(gone []Gone) targets {
	all := targets{}
	for _, g := range gone {
		t := target{g.Address, g.Backend, g.Port - g.First}
		all[t] = append(all[t], span{g.First, g.Last})
	}
	for t, spans := range all {
		slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
		merged := spans[:1]
		for _, s := range spans[1:] {
			if last := &merged[len(merged)-1]; s.first <= last.last {
				last.last = max(last.last, s.last)
				continue
			}
			merged = append(merged, s)
		}
		all[t] = merged
	}
	return all
}

// has is true for a UDP flow to one of the backends.
func (t targets) has(original, reply tuple) bool {
	if original.protocol != unix.IPPROTO_UDP {
		return false
	}
	_, found := slices.BinarySearchFunc(t[target{original.destination, reply.source, reply.fromPort - original.port}],
		original.port,
		func(s span, port uint16) int {
			switch {
			case s.last < port:
				return -1
			case s.first > port:
				return 1
			}
			return 0
		})
	return found
}

// changeEach calls change for each flow. If change returns true, changeEach sends the message that change returned. The
// result is how many flows were changed. It reads the flows one after another, because the table may be larger than the
// memory that an agent may use.
func changeEach(namespace int, change func(family byte, original, reply tuple) (netlink.Message, bool)) (int, error) {
	changed := 0
	var failed []error
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		n, err := changeFamily(namespace, family, change)
		changed += n
		failed = append(failed, err)
	}
	return changed, errors.Join(failed...)
}

func changeFamily(namespace int, family byte,
	change func(family byte, original, reply tuple) (netlink.Message, bool)) (int, error) {
	from, err := netlink.Dial(unix.NETLINK_NETFILTER, &netlink.Config{NetNS: namespace})
	if err != nil {
		return 0, fmt.Errorf("open a netlink socket: %w", err)
	}
	defer from.Close()
	// Answers to changes need a socket of their own: they would come among the flows.
	to, err := netlink.Dial(unix.NETLINK_NETFILTER, &netlink.Config{NetNS: namespace})
	if err != nil {
		return 0, fmt.Errorf("open a netlink socket: %w", err)
	}
	defer to.Close()
	if _, err := from.Send(message(getFlow, netlink.Dump, family, nil)); err != nil {
		return 0, fmt.Errorf("list flows: %w", err)
	}
	changed, refused := 0, error(nil)
	for found, err := range from.ReceiveIter() {
		if err != nil {
			return changed, fmt.Errorf("list flows: %w", err)
		}
		original, reply := read(found.Data)
		request, wanted := change(family, original, reply)
		if !wanted {
			continue
		}
		_, err := to.Execute(request)
		switch {
		case err == nil:
			changed++
		case !errors.Is(err, unix.ENOENT): // with ENOENT, the flow has ended by itself
			refused = cmp.Or(refused, fmt.Errorf("change a flow: %w", err)) // thousands may be refused for one reason
		}
	}
	return changed, refused
}

func message(kind uint16, flags netlink.HeaderFlags, family byte, original []byte) netlink.Message {
	data := []byte{family, unix.NFNETLINK_V0, 0, 0}
	if original != nil {
		data = append(data, attribute(tupleOriginal|nested, original)...)
	}
	return netlink.Message{Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_CTNETLINK<<8 | kind),
		Flags: netlink.Request | flags},
		Data: data}
}

// read returns both directions of a flow. If they can't be read, both are empty, and have protocol 0.
func read(data []byte) (original, reply tuple) {
	if len(data) < 4 {
		return tuple{}, tuple{}
	}
	decoder, err := netlink.NewAttributeDecoder(data[4:])
	if err != nil {
		return tuple{}, tuple{}
	}
	for decoder.Next() {
		switch decoder.Type() {
		case tupleOriginal:
			original = readTuple(decoder.Bytes())
		case tupleReply:
			reply = readTuple(decoder.Bytes())
		}
	}
	if decoder.Err() != nil {
		return tuple{}, tuple{}
	}
	return original, reply
}

func readTuple(raw []byte) tuple {
	t := tuple{raw: raw}
	decoder, err := netlink.NewAttributeDecoder(raw)
	if err != nil {
		return tuple{}
	}
	for decoder.Next() {
		switch decoder.Type() {
		case tupleAddresses:
			decoder.Nested(t.readAddresses)
		case tuplePorts:
			decoder.Nested(t.readPorts)
		}
	}
	return t
}

func (t *tuple) readAddresses(decoder *netlink.AttributeDecoder) error {
	for decoder.Next() {
		switch decoder.Type() {
		case sourceIPv4, sourceIPv6:
			t.source, _ = netip.AddrFromSlice(decoder.Bytes())
		case destinationIPv4, destinationIPv6:
			t.destination, _ = netip.AddrFromSlice(decoder.Bytes())
		}
	}
	return nil
}

func (t *tuple) readPorts(decoder *netlink.AttributeDecoder) error {
	for decoder.Next() {
		switch value := decoder.Bytes(); {
		case decoder.Type() == protocolNumber && len(value) == 1:
			t.protocol = value[0]
		case decoder.Type() == sourcePort && len(value) == 2:
			t.fromPort = binary.BigEndian.Uint16(value)
		case decoder.Type() == destinationPort && len(value) == 2:
			t.port = binary.BigEndian.Uint16(value)
		}
	}
	return nil
}
