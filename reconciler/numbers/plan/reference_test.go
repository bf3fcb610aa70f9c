package plan_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// nobodyWaitsInVain checks with a slow and simple allocator that no channel without ports could have all its ports.
func (c *cluster) nobodyWaitsInVain(p *plan.Plan) error {
	w := c.world()
	if last, recorded := validation.ProviderCalled(w.Ledger.Ledger.Provider); recorded && !w.Mux.ProviderNamed &&
		last.Key != w.Mux.Provider.Key && w.Ledger.Ledger.MuxUID == w.Mux.UID {
		w.Mux.Mux = w.Mux.Under(last)
	}
	taken, perNamespace, protocols := map[plan.Slot]bool{}, map[string]int{}, map[corev1.Protocol]bool{}
	onMux := 0
	for i := range w.Mux.Ports {
		port := &w.Mux.Ports[i]
		if port.Name == "placeholder" && port.Port == 101 && p.Usage.Foreign == 0 {
			continue
		}
		onMux++
		taken[SlotOf(port)], protocols[port.Protocol] = true, true
	}
	for _, r := range w.Mux.Ranges {
		onMux += int(r.Run.Last-r.Run.First) + 1
		protocols[r.Protocol] = true
		for number := r.Run.First; number <= r.Run.Last; number++ {
			taken[plan.Slot{Number: number, Protocol: r.Protocol}] = true
		}
	}
	has, held := map[types.NamespacedName]bool{}, map[plan.Slot]types.NamespacedName{}
	for i := range w.Ledger.Ledger.Claims {
		claim := &w.Ledger.Ledger.Claims[i]
		for _, slot := range numbersOf(claim) {
			held[slot] = claim.Owner.Channel
			if claim.State == plan.Held && !taken[slot] { // off the mux, because its channel is disabled
				onMux++
			}
		}
		if claim.State != plan.Held {
			continue
		}
		has[claim.Owner.Channel], protocols[claim.Owner.Protocol] = true, true
		perNamespace[claim.Owner.Channel.Namespace] += len(numbersOf(claim))
	}
	for i := range w.Channels {
		channel := &w.Channels[i]
		key := channel.Key
		if has[key] || c.limited[key.Namespace].After(c.now) || len(channel.Problems) > 0 || channel.Deleting ||
			channel.Disabled || channel.SourceRanges != "" && w.Mux.Pool == "" || !channel.Admitted &&
			!w.Mux.Namespaces.Allows(key.Namespace) ||
			len(w.Mux.Hostnames.In(key.Namespace).Forbids(channel.Direct)) > 0 {
			continue
		}
		quota, adding := w.Mux.CapPerNamespace, 0
		for i := range channel.Ports {
			adding++
			if channel.Ports[i].Request.IsRange() {
				adding += int(channel.Ports[i].Request.Last - channel.Ports[i].Request.Number)
			}
		}
		if onMux+adding > w.Mux.Cap.Ports || quota > 0 && perNamespace[key.Namespace]+adding > quota {
			continue
		}
		free := func(slot plan.Slot) bool { return !taken[slot] && (held[slot] == key || held[slot].Name == "") }
		if fits(w.Mux, channel, free, protocols) {
			return fmt.Errorf("%s is refused, though all its ports are free", key)
		}
	}
	return nil
}

func fits(mux *plan.ObservedMux, c *plan.ObservedChannel, free func(plan.Slot) bool,
	protocols map[corev1.Protocol]bool) bool {
	mine := map[plan.Slot]bool{}
	for _, auto := range [...]bool{false, true} {
		for i := range c.Ports {
			port := &c.Ports[i]
			if !mux.Protocols.Allowed.Has(port.Protocol) {
				return false
			}
			for protocol := range protocols {
				if mux.Protocols.OneOnly && (protocol != port.Protocol || port.Protocol != c.Ports[0].Protocol) {
					return false
				}
			}
			if mux.Protocols.OneOnly && port.Protocol != c.Ports[0].Protocol {
				return false
			}
			if (port.Request.Kind == validation.Auto) == auto && !fitsPort(mux, port, free, mine) {
				return false
			}
		}
	}
	return true
}

func fitsPort(mux *plan.ObservedMux, port *validation.ChannelPort, free func(plan.Slot) bool,
	mine map[plan.Slot]bool) bool {
	if port.Request.Kind != validation.Auto {
		for number := port.Request.Number; number <= max(port.Request.Number, port.Request.Last); number++ {
			slot := plan.Slot{Number: number, Protocol: port.Protocol}
			mine[slot] = true
			if !free(slot) || !mux.Explicit.Contains(number) {
				return false
			}
		}
		return !port.Request.IsRange() || mux.Pool != ""
	}
	for number := range mux.Auto.All() {
		if slot := (plan.Slot{Number: number, Protocol: port.Protocol}); free(slot) && !mine[slot] {
			mine[slot] = true
			return true
		}
	}
	return false
}

// numbersOf returns the numbers of a claim.
func numbersOf(claim *plan.Claim) []plan.Slot {
	var numbers []plan.Slot
	for number := claim.Public; number <= max(claim.Public, claim.Last); number++ {
		numbers = append(numbers, plan.Slot{Number: number, Protocol: claim.Owner.Protocol})
	}
	return numbers
}
