package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Deleted predicts what becomes of channels whose mux is deleted. With hide, those in other namespaces than the mux's
// are counted and not named; so it is below.
func (o *Outlook) Deleted(hide bool) []Prediction {
	return o.gone("metadata.name", hide, textMuxGone)
}

// Dropped predicts the same where the Service stays, and is no mux any more.
func (o *Outlook) Dropped(hide bool) []Prediction {
	return o.gone("metadata.annotations["+o.world.Keys.Multiplexer+"]", hide, textMuxDropped)
}

func (o *Outlook) gone(part string, hide bool, text func(types.NamespacedName, string) string) []Prediction {
	carried := o.carried()
	if len(carried) == 0 {
		return nil
	}
	return []Prediction{o.about(MuxInUse, part, text(o.world.Key, o.named(carried, hide)))}
}

// Mux predicts what a change of a mux does to the channels it has. Nobody is told of what was so before.
func (o *Outlook) Mux(before, after *ObservedMux, hide bool) []Prediction {
	if len(after.Problems) > 0 {
		return nil // nothing is decided from it
	}
	return slices.Concat(o.dropped(before, after, hide), o.detached(before, after, hide), o.narrowed(before, after))
}

// dropped are channels' ports that the change takes off the mux, or renames.
func (o *Outlook) dropped(before, after *ObservedMux, hide bool) []Prediction {
	had, has := indexPorts(before.Ports), indexPorts(after.Ports)
	var keys []types.NamespacedName
	count := 0
	for i := range o.onMux {
		if claim := &o.onMux[i]; had.has(claim) && !has.has(claim) {
			keys = append(keys, claim.Owner.Channel)
			count++
		}
	}
	if count == 0 {
		return nil
	}
	slices.SortFunc(keys, CompareKeys)
	message := textPortsDropped(count, o.named(slices.Compact(keys), hide))
	if after.Disabled {
		message = textPortsDroppedPaused(count, o.named(slices.Compact(keys), hide), o.world.Keys.Disabled)
	}
	return []Prediction{o.about(ChannelPortsDropped, "spec.ports", message)}
}

// detached are channels that have ports, and lose them because the mux shuts their namespace out. What others get or lose
// on the way, since the pass over these changes has yet to come, isn't this change's doing.
func (o *Outlook) detached(before, after *ObservedMux, hide bool) []Prediction {
	if before.Namespaces.Equal(after.Namespaces) {
		return nil
	}
	was, is := o.decided(before, o.onMux, o.world.Channels...), o.decided(after, o.onMux, o.world.Channels...)
	var keys []types.NamespacedName
	for i := range o.world.Channels {
		key := o.world.Channels[i].Key
		if !after.Namespaces.Allows(key.Namespace) && was.byKey[key].attached && !is.byKey[key].attached {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.SortFunc(keys, CompareKeys)
	return []Prediction{o.about(ChannelsDetached, "metadata.annotations["+o.world.Keys.AllowedNamespaces+"]",
		textDetached(after, o.named(keys, hide)))}
}

// narrowed tells of a cap or a range that is nearly used up from now on.
func (o *Outlook) narrowed(before, after *ObservedMux) []Prediction {
	if before.Cap == after.Cap && before.Auto.Equal(after.Auto) {
		return nil
	}
	was, is := o.decided(before, o.onMux), o.decided(after, o.onMux)
	var said []Prediction
	if !scarce(before.Cap.Ports-was.held, before.Cap.Ports) {
		said = append(said, is.fewPlaces()...)
	}
	if before.Auto.Len() == 0 || !scarce(was.freeNumbers(corev1.ProtocolTCP), before.Auto.Len()) {
		said = append(said, is.fewNumbers(corev1.ProtocolTCP)...)
	}
	return said
}

func (o *Outlook) about(reason validation.Reason, part, message string) Prediction {
	return Prediction{Problem: validation.Problem{Reason: reason, Field: part, Message: message}}
}

// named counts channels, and names the first of those that may be named.
func (o *Outlook) named(keys []types.NamespacedName, hide bool) string {
	shown := keys
	if hide {
		shown = slices.DeleteFunc(slices.Clone(keys), func(key types.NamespacedName) bool {
			return key.Namespace != o.world.Key.Namespace
		})
	}
	return textChannels(len(keys), shown)
}
