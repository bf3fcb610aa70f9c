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

// Resume lets TCP connections to these addresses go on that were carried here before, by another gateway since, and return now. It
// returns how many it let go on.
//
// This kernel hasn't seen what they sent meanwhile, so their packets are outside of the windows that it knows: connection tracking would
// call them invalid, and they would be dropped. It keeps their translation, and stops to check their windows.
func Resume(namespace int, addresses []netip.Addr) (int, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, &netlink.Config{NetNS: namespace})
	if err != nil {
		return 0, fmt.Errorf("open a netlink socket: %w", err)
	}
	defer conn.Close()
	resumed := 0
	var failed []error
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		found, err := conn.Execute(message(getFlow, netlink.Dump, family, nil))
		if err != nil {
			return resumed, fmt.Errorf("list flows: %w", err)
		}
		for i := range found {
			original, _ := read(found[i].Data)
			if original.protocol != unix.IPPROTO_TCP || !slices.Contains(addresses, original.destination) {
				continue
			}
			change := message(newFlow, netlink.Acknowledge, family, original.raw)
			change.Data = append(change.Data, withoutWindows()...)
			_, err := conn.Execute(change)
			switch {
			case err == nil:
				resumed++
			case !errors.Is(err, unix.ENOENT): // otherwise it has ended by itself
				failed = append(failed, fmt.Errorf("change a flow: %w", err))
			}
		}
	}
	return resumed, errors.Join(failed...)
}

// Attributes of a TCP flow.
const (
	newFlow                   = 0
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
