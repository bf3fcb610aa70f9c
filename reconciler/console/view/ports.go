package view

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// slotUnread is a port of a channel that can't be read. It never occurs in the console.
const slotUnread = "unread"

// PortLine is a number of a mux, with all that is known of it.
type PortLine struct {
	Slot
	Source string     `json:"source,omitempty"` // auto or static
	Since  *time.Time `json:"since,omitempty"`
	// Live says that the mux has the port.
	Live     bool      `json:"live"`
	Backends *Backends `json:"backends,omitempty"` // of this port; null if they can't be read
	// Condition is the state of the number's channel; Reason and Message are those of its verdict.
	Condition string `json:"condition,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
}

// PortsOf returns a line for each number in use, sorted by number.
func PortsOf(s *sight.Sight) []PortLine {
	lines := []PortLine{}
	if s.World.Mux == nil {
		return lines
	}
	claims, channels, live := claimsOf(s), shownChannels(s), s.World.Mux.Spans()
	ready := readyByName(s)
	for _, slot := range slotsOf(s) {
		key := plan.Slot{Number: slot.Number, Protocol: corev1.Protocol(slot.Protocol)}
		line := PortLine{Slot: slot, Live: slot.State == slotForeign}
		if claim := claims[key]; claim != nil {
			line.Source, line.Since = claim.Source.String(), timeOf(claim.Since)
			line.Live = live[claim.MuxName] == claim.Span()
			if s.Unread.Carried == "" {
				count := ready[claim.Owner.Channel][claim.MuxName]
				line.Backends = &count
			} else if sources := s.Sources[claim.Owner.Channel]; len(sources) > 0 {
				count := countByName(sources)[claim.Owner.Name]
				line.Backends = &count
			}
			if channel := channels[claim.Owner.Channel]; channel != nil {
				line.Condition, line.Reason, line.Message = channel.State, channel.Reason, channel.Message
			}
		}
		line.unread(s)
		lines = append(lines, line)
	}
	return lines
}

// unread marks a port whose name is like a channel's as unread, if its channel may be one that can't be read.
func (l *PortLine) unread(s *sight.Sight) {
	if l.State != slotForeign || s.Unread.Channels == "" && s.Unread.Ledger == "" || !plan.LooksOurs(l.Port) {
		return
	}
	l.State = slotUnread
	if channel := s.World.Records[l.Port]; channel.Name != "" {
		l.Channel = channel.String()
	}
	l.Port = ""
}

// claimsOf returns the claims by their number, preferring the same claims as slotsOf.
func claimsOf(s *sight.Sight) map[plan.Slot]*plan.Claim {
	claims := map[plan.Slot]*plan.Claim{}
	for _, list := range [...][]plan.Claim{s.Plan.InForce, s.Plan.Leaving, ledgerAfter(s)} {
		for i := range list {
			if slot := list[i].Slot(); claims[slot] == nil {
				claims[slot] = &list[i]
			}
		}
	}
	return claims
}

func shownChannels(s *sight.Sight) map[types.NamespacedName]*Channel {
	all := claimantsOf(s)
	shown := make(map[types.NamespacedName]*Channel, len(all))
	for i := range all {
		shown[types.NamespacedName{Namespace: all[i].Namespace, Name: all[i].Name}] = &all[i]
	}
	return shown
}

// readyByName counts the endpoints on the mux, by channel and by the port's name on the mux.
func readyByName(s *sight.Sight) map[types.NamespacedName]map[string]Backends {
	counts := make(map[types.NamespacedName]map[string]Backends, len(s.Carried))
	for channel, list := range s.Carried {
		counts[channel] = countByName(list)
	}
	return counts
}

// countByName counts the endpoints of slices by the name of their port.
func countByName(list []*discoveryv1.EndpointSlice) map[string]Backends {
	counts := map[string]Backends{}
	for _, slice := range list {
		of := countEndpoints([]*discoveryv1.EndpointSlice{slice})
		for _, port := range slice.Ports {
			if port.Name != nil {
				count := counts[*port.Name]
				counts[*port.Name] = Backends{Ready: count.Ready + of.Ready, Total: count.Total + of.Total,
					Slices: count.Slices + 1}
			}
		}
	}
	return counts
}

// Free are the free numbers of a mux's range under one protocol.
type Free struct {
	Protocol string  `json:"protocol"`
	Count    int     `json:"count"`
	Numbers  []Range `json:"numbers"`
}

// FreeOf returns the free numbers of the range that auto ports come from, for each protocol that the mux allows.
func FreeOf(s *sight.Sight) []Free {
	list := []Free{}
	if s.World.Mux == nil {
		return list
	}
	taken := map[plan.Slot]bool{}
	for _, slot := range slotsOf(s) {
		for number := slot.Number; number <= max(slot.Number, slot.Last); number++ {
			taken[plan.Slot{Number: number, Protocol: corev1.Protocol(slot.Protocol)}] = true
		}
	}
	for _, protocol := range [...]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		if !s.World.Mux.Protocols.Allowed.Has(protocol) {
			continue
		}
		free := Free{Protocol: string(protocol), Numbers: []Range{}}
		for _, run := range s.World.Mux.Auto.Ranges() {
			free.add(run, func(number int32) bool { return taken[plan.Slot{Number: number, Protocol: protocol}] })
		}
		list = append(list, free)
	}
	return list
}

// add adds the free numbers of one run.
func (f *Free) add(run validation.PortRange, taken func(int32) bool) {
	begun := int32(0)
	for number := run.First; number <= run.Last; number++ {
		if isTaken := taken(number); !isTaken {
			f.Count++
			if begun == 0 {
				begun = number
			}
		} else if begun != 0 {
			f.Numbers, begun = append(f.Numbers, Range{begun, number - 1}), 0
		}
	}
	if begun != 0 {
		f.Numbers = append(f.Numbers, Range{begun, run.Last})
	}
}
