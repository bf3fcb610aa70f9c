package balancer

import (
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/flows"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// udp is tables with one UDP service for each of these numbers of backends. All backends are in the network
// 10.n.0.0/16.
func udp(n byte, services, slots int) *want.Tables {
	tables := &want.Tables{}
	for i := range services {
		s := want.Service{Address: netip.MustParseAddr("192.0.2.1"), Protocol: corev1.ProtocolUDP}
		s.First, s.Last = uint16(1+i), uint16(1+i)
		for j := range slots {
			address := netip.AddrFrom4([4]byte{10, n, byte(j >> 8), byte(j)})
			s.Slots = append(s.Slots, want.Backend{Address: address, Port: uint16(1 + i)})
		}
		tables.Services = append(tables.Services, s)
	}
	return tables
}

// Every backend of UDP is replaced, while the flows to backends that went before couldn't be ended.
func BenchmarkWorstGoneBackends(b *testing.B) {
	for _, slots := range []int{1000, 2000, 4000, 8000} {
		b.Run(fmt.Sprintf("%d backends", slots), func(b *testing.B) {
			a := New(Config{DropFlows: func([]flows.Gone) (int, error) { return 0, nil }})
			before, after := udp(1, 1, slots), udp(2, 1, slots)
			left := goneBackends(udp(3, 1, slots), after)
			for b.Loop() {
				a.applied, a.gone = after, left
				a.dropFlows(before)
			}
		})
	}
}
