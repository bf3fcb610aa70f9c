package flows

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Resume lets TCP connections to these addresses go on that this gateway carried, then another one, and now this one again. It returns how
// many it let go on.
//
// This kernel hasn't seen what they sent meanwhile, so their packets are outside of the windows that it knows: connection tracking would
// call them invalid, and they would be dropped. It keeps their translation, and no longer checks their windows.
func Resume(namespace int, addresses []netip.Addr) (int, error) {
	return changeEach(namespace, func(family byte, original, _ tuple) (netlink.Message, bool) {
		change := message(newFlow, netlink.Acknowledge, family, original.raw)
		change.Data = append(change.Data, withoutWindows()...)
		return change, original.protocol == unix.IPPROTO_TCP && slices.Contains(addresses, original.destination)
	})
}

// Attributes of a TCP flow.
const (
	protocolInfo, infoOfTCP   = 4, 1
	flagsOriginal, flagsReply = 4, 5
	beLiberal                 = 8 // windows aren't checked
)

// withoutWindows returns the attribute that sets the flag beLiberal in both directions. Each flag has its mask.
func withoutWindows() []byte {
	flags := append(attribute(flagsOriginal, []byte{beLiberal, beLiberal}), attribute(flagsReply, []byte{beLiberal, beLiberal})...)
	return attribute(protocolInfo|nested, attribute(infoOfTCP|nested, flags))
}

// attribute encodes an attribute, and fills it up to four bytes.
func attribute(kind uint16, value []byte) []byte {
	const header, align = 4, 4
	data := binary.NativeEndian.AppendUint16(nil, uint16(header+len(value)))
	data = append(binary.NativeEndian.AppendUint16(data, kind), value...)
	return append(data, make([]byte, (align-len(data)%align)%align)...)
}
