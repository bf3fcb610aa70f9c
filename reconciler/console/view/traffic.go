package view

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// Traffic is what the gateways counted for their busiest ports.
type Traffic struct {
	Schema string        `json:"schema"`
	Ports  []PortTraffic `json:"ports"`
}

// PortTraffic is the traffic of a number, or range, of a mux on gateways: the sum of all gateways and of both address
// families.
type PortTraffic struct {
	Mux      string `json:"mux"` // namespace/name
	Number   int32  `json:"number"`
	Last     int32  `json:"last,omitempty"` // the last number of a range
	Protocol string `json:"protocol"`
	// Channel is namespace/name, and Port its port; both are empty for a port of the mux's own.
	Channel string `json:"channel,omitempty"`
	Port    string `json:"port,omitempty"`
	// Total is the count since each gateway began to carry the port.
	Total     Amounts `json:"total"`
	PerSecond Rates   `json:"perSecond"`
}

// Span returns the numbers of the port.
func (t *PortTraffic) Span() plan.Span {
	return plan.NewSpan(t.Number, t.Last, corev1.Protocol(t.Protocol))
}

// Amounts count new connections, and packets and bytes of both directions.
type Amounts struct {
	Connections uint64 `json:"connections"`
	Packets     uint64 `json:"packets"`
	Bytes       uint64 `json:"bytes"`
}

// Rates are Amounts for each second.
type Rates struct {
	Connections float64 `json:"connections"`
	Packets     float64 `json:"packets"`
	Bytes       float64 `json:"bytes"`
}

// TrafficOf returns the traffic that gateways counted for the ports of a mux, sorted by bytes a second, the most first.
// Each gateway reports only its busiest ports.
func TrafficOf(s *sight.Sight, gateways []lease.Gateway) []PortTraffic {
	lines := []PortTraffic{}
	if s.World.Mux == nil {
		return lines
	}
	addresses, slots, at := addressesOf(s.World.Mux.Address), slotsOf(s), map[plan.Span]int{}
	for i := range gateways {
		traffic := gateways[i].Traffic
		if traffic == nil {
			continue
		}
		for j := range traffic.Ports {
			p := &traffic.Ports[j]
			if !slices.Contains(addresses, p.Address.String()) {
				continue
			}
			span := plan.NewSpan(int32(p.First), int32(p.Last), p.Protocol)
			line, known := at[span]
			if !known {
				line = len(lines)
				at[span], lines = line, append(lines, portTrafficOf(s, span, slots))
			}
			lines[line].add(p, traffic.Over.Seconds())
		}
	}
	slices.SortFunc(lines, func(a, b PortTraffic) int {
		return cmp.Or(cmp.Compare(b.PerSecond.Bytes, a.PerSecond.Bytes), cmp.Compare(b.Total.Bytes, a.Total.Bytes),
			cmp.Compare(a.Number, b.Number),
			cmp.Compare(a.Protocol, b.Protocol))
	})
	return lines
}

func portTrafficOf(s *sight.Sight, span plan.Span, slots []Slot) PortTraffic {
	line := PortTraffic{Mux: s.World.Key.String(), Number: span.First, Protocol: string(span.Protocol)}
	if span.Last > span.First {
		line.Last = span.Last
	}
	at := slices.IndexFunc(slots, func(slot Slot) bool {
		return slot.Has(plan.Slot{Number: span.First, Protocol: corev1.Protocol(line.Protocol)})
	})
	if at >= 0 && slots[at].Channel != "" {
		line.Channel, line.Port = slots[at].Channel, slots[at].Port
	}
	return line
}

func (t *PortTraffic) add(p *lease.PortTraffic, seconds float64) {
	t.Total.Connections += p.Total.Connections
	t.Total.Packets += p.Total.Packets
	t.Total.Bytes += p.Total.Bytes
	t.PerSecond.Connections += float64(p.Lately.Connections) / seconds
	t.PerSecond.Packets += float64(p.Lately.Packets) / seconds
	t.PerSecond.Bytes += float64(p.Lately.Bytes) / seconds
}
