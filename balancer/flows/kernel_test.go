package flows

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/test/nettest"
)

// track makes UDP flows in the namespace's connection table, from 10.9.1.9 to port 53 of 192.0.2.1. Each goes to port
// 5353 of a backend, by turns.
func track(t *testing.T, in *nettest.Namespace, flows int, backends ...string) {
	t.Helper()
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, &netlink.Config{NetNS: in.FD})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i := range flows {
		side := func(from, to netip.AddrPort) []byte {
			addresses := append(attribute(sourceIPv4, from.Addr().AsSlice()),
				attribute(destinationIPv4, to.Addr().AsSlice())...)
			ports := append(attribute(protocolNumber, []byte{unix.IPPROTO_UDP}),
				append(attribute(sourcePort, binary.BigEndian.AppendUint16(nil, from.Port())),
					attribute(destinationPort, binary.BigEndian.AppendUint16(nil, to.Port()))...)...)
			return append(attribute(tupleAddresses|nested, addresses), attribute(tuplePorts|nested, ports)...)
		}
		client := netip.AddrPortFrom(netip.MustParseAddr("10.9.1.9"), uint16(1024+i))
		request := message(newFlow, netlink.Create|netlink.Excl|netlink.Acknowledge, unix.AF_INET,
			side(client, netip.MustParseAddrPort("192.0.2.1:53")))
		const reply, timeout = 2, 7
		backend := netip.AddrPortFrom(netip.MustParseAddr(backends[i%len(backends)]), 5353)
		request.Data = append(request.Data, attribute(reply|nested, side(backend, client))...)
		request.Data = append(request.Data, attribute(timeout, binary.BigEndian.AppendUint32(nil, 600))...)
		if _, err := conn.Execute(request); err != nil {
			t.Fatalf("make flow %d: %v", i, err)
		}
	}
}

// A table may have hundreds of thousands of flows, with half a KiB each. An agent with 512 MiB must not hold all of
// them at a time.
func TestFlowsAreNotHeldInMemory(t *testing.T) {
	in := nettest.New(t)
	const flows = 20_000
	track(t, in, flows, "10.1.0.1")
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, seen, most := live(), 0, int64(0)
	_, err := changeEach(in.FD, func(_ byte, original, _ tuple) (netlink.Message, bool) {
		if original.protocol == unix.IPPROTO_UDP {
			if seen++; seen%(flows/4) == 0 {
				most = max(most, live()-before)
			}
		}
		return netlink.Message{}, false
	})
	if err != nil || seen != flows {
		t.Fatalf("saw %d of %d flows, %v", seen, flows, err)
	}
	t.Logf("at most %d KiB for %d flows", most>>10, flows)
	if most > 1<<20 {
		t.Errorf("while %d flows are listed, they take %d KiB", flows, most>>10)
	}
}

func TestFlowsToGoneBackendsEndInTheKernel(t *testing.T) {
	in := nettest.New(t)
	track(t, in, 3000, "10.1.0.1", "10.1.0.2", "10.1.0.3")
	a := netip.MustParseAddr
	gone := []Gone{{a("192.0.2.1"), 53, 53, a("10.1.0.2"), 5353}, {a("192.0.2.1"), 53, 53, a("10.1.0.9"), 5353}}
	dropped, err := Drop(in.FD, gone)
	if err != nil || dropped != 1000 {
		t.Errorf("dropped %d of 1000 flows, %v", dropped, err)
	}
	left, _ := changeEach(in.FD, func(family byte, original, _ tuple) (netlink.Message, bool) {
		return message(deleteFlow, netlink.Acknowledge, family, original.raw), original.protocol == unix.IPPROTO_UDP
	})
	if left != 2000 {
		t.Errorf("%d flows were left, want 2000", left)
	}
}

// The index finds what a comparison with each gone backend finds.
func TestIndexFindsWhatAComparisonFinds(t *testing.T) {
	address := rapid.Custom(func(t *rapid.T) netip.Addr {
		return netip.AddrFrom4([4]byte{10, 0, 0, rapid.ByteRange(1, 2).Draw(t, "host")})
	})
	port := rapid.Uint16Range(1, 12)
	rapid.Check(t, func(t *rapid.T) {
		var gone []Gone
		for range rapid.IntRange(0, 8).Draw(t, "gone") {
			first := port.Draw(t, "first")
			last := first + rapid.Uint16Range(0, 5).Draw(t, "more")
			gone = append(gone, Gone{address.Draw(t, "address"), first, last, address.Draw(t, "backend"), port.Draw(t, "port")})
		}
		ended := index(gone)
		for range 20 {
			original := tuple{destination: address.Draw(t, "to"), protocol: unix.IPPROTO_UDP}
			original.port = port.Draw(t, "number")
			reply := tuple{source: address.Draw(t, "from"), fromPort: port.Draw(t, "from port")}
			want := false
			for _, g := range gone {
				isNumber := original.destination == g.Address && original.port >= g.First && original.port <= g.Last
				want = want || isNumber && reply.source == g.Backend && reply.fromPort == g.Port+original.port-g.First
			}
			if got := ended.has(original, reply); got != want {
				t.Fatalf("%+v: %t for %+v and %+v", gone, got, original, reply)
			}
		}
	})
}
