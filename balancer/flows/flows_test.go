package flows

import (
	"net/netip"
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// flow is a flow as the kernel tells it.
func flow(t testing.TB, protocol byte, address, backend string, port uint16) []byte {
	t.Helper()
	side := func(source, destination string, from, to uint16) func(*netlink.AttributeEncoder) error {
		return func(e *netlink.AttributeEncoder) error {
			e.Nested(tupleAddresses, func(e *netlink.AttributeEncoder) error {
				e.Bytes(sourceIPv4, netip.MustParseAddr(source).AsSlice())
				e.Bytes(destinationIPv4, netip.MustParseAddr(destination).AsSlice())
				return nil
			})
			e.Nested(tuplePorts, func(e *netlink.AttributeEncoder) error {
				e.Uint8(protocolNumber, protocol)
				e.Bytes(sourcePort, []byte{byte(from >> 8), byte(from)})
				e.Bytes(destinationPort, []byte{byte(to >> 8), byte(to)})
				return nil
			})
			return nil
		}
	}
	e := netlink.NewAttributeEncoder()
	e.Nested(tupleOriginal, side("10.9.1.9", address, 40000, 53))
	e.Nested(tupleReply, side(backend, "10.9.2.1", port, 40000))
	text, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{unix.AF_INET, 0, 0, 0}, text...)
}

func gone() []Gone {
	a := netip.MustParseAddr
	return []Gone{{a("192.0.2.1"), 50, 60, a("10.1.0.1"), 5050}, {a("192.0.2.1"), 70, 70, a("10.1.0.2"), 5353}}
}

func TestOnlyUDPFlowsToGoneBackendsMatch(t *testing.T) {
	for name, test := range map[string]struct {
		data []byte
		want bool
	}{
		"a gone backend, the fourth number of a range": {flow(t, unix.IPPROTO_UDP, "192.0.2.1", "10.1.0.1", 5053), true},
		"another port of it":                           {flow(t, unix.IPPROTO_UDP, "192.0.2.1", "10.1.0.1", 5050), false},
		"over TCP":                                     {flow(t, unix.IPPROTO_TCP, "192.0.2.1", "10.1.0.1", 5053), false},
		"another mux":                                  {flow(t, unix.IPPROTO_UDP, "192.0.2.2", "10.1.0.1", 5053), false},
		"a backend that stays":                         {flow(t, unix.IPPROTO_UDP, "192.0.2.1", "10.1.0.3", 5053), false},
		"a backend of another service":                 {flow(t, unix.IPPROTO_UDP, "192.0.2.1", "10.1.0.2", 5353), false},
		"nothing":                                      {nil, false},
	} {
		original, reply := read(test.data)
		if matches := index(gone()).has(original, reply); matches != test.want || matches && len(original.raw) == 0 {
			t.Errorf("%s: %t", name, matches)
		}
	}
}

func FuzzMatch(f *testing.F) {
	golden.Seeds(f)
	f.Add(flow(f, unix.IPPROTO_UDP, "192.0.2.1", "10.1.0.1", 5053))
	f.Fuzz(func(_ *testing.T, data []byte) {
		original, reply := read(data)
		index(gone()).has(original, reply)
	})
}
