package flows

import (
	"fmt"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// Every flow in a full table is compared with the backends that are gone.
func BenchmarkWorstGoneFlows(b *testing.B) {
	const flows = 100_000
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("%d backends", n), func(b *testing.B) {
			var gone []Gone
			for i := range n {
				gone = append(gone, Gone{netip.MustParseAddr("192.0.2.1"), uint16(1 + i%1000), uint16(1 + i%1000),
					netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 5353})
			}
			original, reply := read(flow(b, unix.IPPROTO_UDP, "192.0.2.1", "10.9.0.1", 5353))
			b.ResetTimer()
			for b.Loop() {
				ended := index(gone)
				for range flows {
					ended.has(original, reply)
				}
			}
		})
	}
}
