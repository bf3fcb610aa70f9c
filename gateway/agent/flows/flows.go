// Package flows changes flows in the kernel's connection tracking: it ends UDP flows to backends that are gone, and resumes TCP flows that
// return from another gateway.
//
//	flows.go   Drop     resume.go  Resume
//
// A flow keeps its backend while packets come. A TCP client of a backend that is gone gets an error and connects again. A UDP client gets
// no error, and goes on sending to the backend that is gone. So the agent deletes such UDP flows, and the next packet starts a new flow.
package flows

import (
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

// Drop deletes the flows to backends that are gone, and returns how many it deleted. The namespace is a file descriptor; 0 is the
// process's own.
func Drop(namespace int, gone []Gone) (int, error) {
	if len(gone) == 0 {
		return 0, nil
	}
	return changeEach(namespace, func(family byte, original, reply tuple) (netlink.Message, bool) {
		return message(deleteFlow, netlink.Acknowledge, family, original.raw), isTo(gone, original, reply)
	})
}

// isTo is true for a UDP flow to one of these backends.
func isTo(gone []Gone, original, reply tuple) bool {
	return original.protocol == unix.IPPROTO_UDP && slices.ContainsFunc(gone, func(g Gone) bool {
		return original.destination == g.Address && original.port >= g.First && original.port <= g.Last && reply.source == g.Backend &&
			reply.fromPort == g.Port+original.port-g.First
	})
}

// changeEach calls change for each flow. If change returns true, changeEach sends the message that change returned. The result is how many
// flows were changed.
func changeEach(namespace int, change func(family byte, original, reply tuple) (netlink.Message, bool)) (int, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, &netlink.Config{NetNS: namespace})
	if err != nil {
		return 0, fmt.Errorf("open a netlink socket: %w", err)
	}
	defer conn.Close()
	changed := 0
	var failed []error
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		found, err := conn.Execute(message(getFlow, netlink.Dump, family, nil))
		if err != nil {
			return changed, fmt.Errorf("list flows: %w", err)
		}
		for i := range found {
			original, reply := read(found[i].Data)
			request, wanted := change(family, original, reply)
			if !wanted {
				continue
			}
			_, err := conn.Execute(request)
			switch {
			case err == nil:
				changed++
			case !errors.Is(err, unix.ENOENT): // with ENOENT, the flow has ended by itself
				failed = append(failed, fmt.Errorf("change a flow: %w", err))
			}
		}
	}
	return changed, errors.Join(failed...)
}

func message(kind uint16, flags netlink.HeaderFlags, family byte, original []byte) netlink.Message {
	data := []byte{family, unix.NFNETLINK_V0, 0, 0}
	if original != nil {
		data = append(data, attribute(tupleOriginal|nested, original)...)
	}
	return netlink.Message{Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_CTNETLINK<<8 | kind), Flags: netlink.Request | flags},
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
