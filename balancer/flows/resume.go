package flows

import (
	"encoding/binary"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Resume lets TCP connections to these addresses go on that come back to this gateway from another one. It returns how
// many flows it changed.
//
// This kernel didn't see the packets that the other gateway carried. So the next packets are outside of the TCP windows
// that it knows, and connection tracking would call them invalid: they would be dropped. Resume switches the check of
// windows off. The translation stays.
func Resume(namespace int, addresses []netip.Addr) (int, error) {
	taken := make(map[netip.Addr]bool, len(addresses))
	for _, a := range addresses {
		taken[a] = true
	}
	return changeEach(namespace, func(family byte, original, _ tuple) (netlink.Message, bool) {
		change := message(newFlow, netlink.Acknowledge, family, original.raw)
		change.Data = append(change.Data, withoutWindows()...)
		return change, original.protocol == unix.IPPROTO_TCP && taken[original.destination]
	})
}

// Attributes of a TCP flow.
const (
	protocolInfo, infoOfTCP   = 4, 1
	flagsOriginal, flagsReply = 4, 5
	beLiberal                 = 8 // windows aren't checked
)

// withoutWindows returns the attribute that sets the flag beLiberal in both directions. Each value is a flag and its
// mask.
func withoutWindows() []byte {
	flags := append(attribute(flagsOriginal, []byte{beLiberal, beLiberal}),
		attribute(flagsReply, []byte{beLiberal, beLiberal})...)
	return attribute(protocolInfo|nested, attribute(infoOfTCP|nested, flags))
}

// attribute encodes an attribute, and pads it to a multiple of four bytes.
func attribute(kind uint16, value []byte) []byte {
	const header, align = 4, 4
	data := binary.NativeEndian.AppendUint16(nil, uint16(header+len(value)))
	data = append(binary.NativeEndian.AppendUint16(data, kind), value...)
	return append(data, make([]byte, (align-len(data)%align)%align)...)
}
