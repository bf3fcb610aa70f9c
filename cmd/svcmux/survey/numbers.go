package survey

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/manifest"
)

// slot is a number on a mux, with its protocol.
type slot struct {
	number   int32
	protocol corev1.Protocol
}

// numbers are the slots of a mux, and the Service that holds each.
type numbers map[slot]string

func slotOf(port corev1.ServicePort, number int32) slot {
	return slot{number, cmp.Or(port.Protocol, corev1.ProtocolTCP)}
}

// count notes the slots that a Service has today.
func (n numbers) count(svc *corev1.Service) {
	for _, port := range svc.Spec.Ports {
		if at := slotOf(port, port.Port); n[at] == "" {
			n[at] = keyOf(svc).String()
		}
	}
}

// areFree says that no other Service has a slot of this Service.
func (n numbers) areFree(svc *corev1.Service) bool {
	for _, port := range svc.Spec.Ports {
		if n[slotOf(port, port.Port)] != "" {
			return false
		}
	}
	return true
}

// place gives each port of a mux its number. The oldest Service keeps a number that several want; the others get the
// lowest free numbers of the mux's range. Ports of a Service with one number and several protocols stay together, since
// the clients of DNS expect that. It returns, and removes, the members for which no number is left.
func (o *Options) place(m *Mux) (without []*corev1.Service) {
	held := numbers{}
	if !m.removesPlaceholder() {
		held[slot{placeholderPort, corev1.ProtocolTCP}] = "the placeholder"
	}
	moves := map[*corev1.Service]map[int32]string{} // the holders of numbers that a Service can't keep
	for _, member := range m.Members {
		moves[member.From] = held.keep(member.From)
	}
	free := pool{held: held, auto: slices.Collect(o.auto().All()), tried: map[string]int{}}
	var kept []Member
	for _, member := range m.Members {
		ports, done := free.place(member.From, moves[member.From])
		if !done {
			without = append(without, member.From)
			continue
		}
		member.Ports = ports
		kept = append(kept, member)
	}
	m.Members = kept
	return without
}

// keep takes those numbers of a Service that are free under all protocols under which it has them. It returns the
// other ones, with their holders.
func (n numbers) keep(svc *corev1.Service) map[int32]string {
	lost := map[int32]string{}
	for _, port := range svc.Spec.Ports {
		if holder := n[slotOf(port, port.Port)]; holder != "" {
			lost[port.Port] = holder
		}
	}
	for _, port := range svc.Spec.Ports {
		if lost[port.Port] == "" {
			n[slotOf(port, port.Port)] = keyOf(svc).String()
		}
	}
	return lost
}

// place gives each port of a Service its number. It returns false if no number is left.
func (p *pool) place(svc *corev1.Service, lost map[int32]string) ([]Placed, bool) {
	fresh := map[int32]int32{}
	var placed []Placed
	for _, port := range svc.Spec.Ports {
		to := port.Port
		if lost[port.Port] != "" {
			if fresh[port.Port] == 0 {
				fresh[port.Port] = p.lowest(svc, port.Port)
			}
			if to = fresh[port.Port]; to == 0 {
				return nil, false
			}
		}
		port.Name = manifest.PortName(port)
		placed = append(placed, Placed{manifest.Port{ServicePort: port, Number: to}, lost[port.Port]})
	}
	return placed, true
}

// pool is the numbers of a mux from which moved ports get theirs.
type pool struct {
	held  numbers
	auto  []int32
	tried map[string]int // by protocols: how many numbers, from the first one on, are held
}

// lowest takes the lowest number that is free under every protocol under which the Service has a number; 0 if none is.
func (p *pool) lowest(svc *corev1.Service, number int32) int32 {
	var protocols []corev1.Protocol
	for _, port := range svc.Spec.Ports {
		if port.Port == number {
			protocols = append(protocols, slotOf(port, number).protocol)
		}
	}
	key := fmt.Sprint(protocols)
	for ; p.tried[key] < len(p.auto); p.tried[key]++ {
		candidate := p.auto[p.tried[key]]
		if slices.ContainsFunc(protocols, func(protocol corev1.Protocol) bool {
			return p.held[slot{candidate, protocol}] != ""
		}) {
			continue
		}
		for _, protocol := range protocols {
			p.held[slot{candidate, protocol}] = keyOf(svc).String()
		}
		return candidate
	}
	return 0
}
