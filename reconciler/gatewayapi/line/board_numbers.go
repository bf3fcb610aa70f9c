package line

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/status"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Show keeps the conditions, address and ports of a listener from a patch, and wakes its Gateway, so that its status is
// written.
func (b *Board) Show(mux types.NamespacedName, patch *plan.ChannelPatch) {
	b.mu.Lock()
	posted := b.muxes[mux]
	if posted == nil {
		b.mu.Unlock()
		return
	}
	if is, known := posted.listeners[patch.Channel]; known {
		is.channel.Conditions = slices.DeleteFunc(slices.Clone(is.channel.Conditions), func(c metav1.Condition) bool {
			return slices.Contains(patch.Drop, c.Type)
		})
		for _, condition := range patch.Conditions {
			meta.SetStatusCondition(&is.channel.Conditions, condition)
		}
		if patch.SetAddress {
			is.channel.Address = patch.Address
		}
		if patch.SetNote {
			is.channel.PortsNote = patch.PortsNote
		}
		posted.listeners[patch.Channel] = is
	}
	gateway := posted.gateway
	b.mu.Unlock()
	b.wakeFor(gateway)
}

// setShown keeps a Gateway's listeners for the console.
func (b *Board) setShown(mux, gateway types.NamespacedName, listeners []claimants.Listener) {
	b.mu.Lock()
	posted := b.muxes[mux]
	changed := posted != nil && posted.gateway == gateway && !equality.Semantic.DeepEqual(posted.shown, listeners)
	if changed {
		posted.shown = listeners
	}
	b.mu.Unlock()
	if changed {
		b.Tell(mux)
	}
}

// Shown returns the listeners of a mux's Gateway with their conditions and routes. Callers must not change them.
func (b *Board) Shown(mux types.NamespacedName) []claimants.Listener {
	b.mu.Lock()
	defer b.mu.Unlock()
	if posted := b.muxes[mux]; posted != nil {
		return posted.shown
	}
	return nil
}

// numbers returns the decisions about the numbers of a mux's listeners, from their conditions.
func (b *Board) numbers(mux types.NamespacedName, keys *validation.Keys) map[types.NamespacedName]status.Number {
	all := map[types.NamespacedName]status.Number{}
	for _, channel := range b.On(mux) {
		var number status.Number
		if said := meta.FindStatusCondition(channel.Conditions, keys.Accepted); said != nil &&
			said.Status == metav1.ConditionFalse {
			number.Refused = said.Message
		}
		said := meta.FindStatusCondition(channel.Conditions, keys.Programmed)
		switch {
		case said == nil:
			number.Undecided = true
		case isAnotherNumber(&channel):
			number.Pending = "the reconciler has yet to decide about the new number"
		case said.Status == metav1.ConditionTrue:
			number.Programmed = true
		default:
			number.Pending = said.Message
		}
		all[channel.Key] = number
	}
	return all
}

// isAnotherNumber is true for a listener whose number changed since the last decision, or that was created again with
// another one.
func isAnotherNumber(channel *plan.ObservedChannel) bool {
	ports, _ := validation.ParsePorts(channel.PortsNote)
	return len(ports) > 0 && !slices.ContainsFunc(ports, func(p validation.PortMapping) bool {
		return p.Name == channel.Ports[0].Name && p.Public == channel.Ports[0].Port
	})
}
