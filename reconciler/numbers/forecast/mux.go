package forecast

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Deleted predicts the effect of the mux's deletion on its channels. With hide, channels in other namespaces than the
// mux's are counted and not named. Dropped and Mux do the same.
func (o *Outlook) Deleted(hide bool) []Prediction {
	return o.predictGone("metadata.name", hide, textMuxGone)
}

// Dropped predicts the effect if the Service stays, but ceases to be a mux.
func (o *Outlook) Dropped(hide bool) []Prediction {
	return o.predictGone("metadata.annotations["+o.world.Keys.Multiplexer+"]", hide, textMuxDropped)
}

func (o *Outlook) predictGone(part string, hide bool, text func(types.NamespacedName, string) string) []Prediction {
	carried := channelsOf(o.onMux)
	if len(carried) == 0 {
		return nil
	}
	return predict(MuxInUse, part, text(o.world.Key, o.named(carried, hide)))
}

// Mux predicts the effect of a change of the mux on its channels. It predicts only effects that the change itself
// causes.
func (o *Outlook) Mux(before, after *plan.ObservedMux, hide bool) []Prediction {
	if len(after.Problems) > 0 {
		return nil // a mux with problems is frozen
	}
	return slices.Concat(o.dropped(before, after, hide), o.detached(before, after, hide), o.narrowed(before, after))
}

// dropped predicts which channel ports the change removes from the mux, or renames.
func (o *Outlook) dropped(before, after *plan.ObservedMux, hide bool) []Prediction {
	dropped := plan.Dropped(o.onMux, before.Ports, after.Ports)
	if len(dropped) == 0 {
		return nil
	}
	channels := o.named(channelsOf(dropped), hide)
	message := textPortsDropped(len(dropped), channels)
	if after.Disabled {
		message = textPortsDroppedPaused(len(dropped), channels, o.world.Keys.Disabled)
	}
	return predict(ChannelPortsDropped, "spec.ports", message)
}

// detached predicts which channels lose their ports because the change excludes their namespace. Effects of earlier
// changes that no pass has handled yet don't count.
func (o *Outlook) detached(before, after *plan.ObservedMux, hide bool) []Prediction {
	if before.Namespaces.Equal(after.Namespaces) {
		return nil
	}
	was, is := o.decided(before, o.onMux, o.world.Channels...), o.decided(after, o.onMux, o.world.Channels...)
	var keys []types.NamespacedName
	for i := range o.world.Channels {
		key := o.world.Channels[i].Key
		if !after.Namespaces.Allows(key.Namespace) && was.Of(key).IsAttached && !is.Of(key).IsAttached {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.SortFunc(keys, plan.CompareKeys)
	return predict(ChannelsDetached, "metadata.annotations["+o.world.Keys.AllowedNamespaces+"]",
		textDetached(after, o.named(keys, hide)))
}

// narrowed warns if a cap or a range is nearly used up after the change, and wasn't before.
func (o *Outlook) narrowed(before, after *plan.ObservedMux) []Prediction {
	if before.Cap == after.Cap && before.Auto.Equal(after.Auto) {
		return nil
	}
	was, is := o.decided(before, o.onMux), o.decided(after, o.onMux)
	var predicted []Prediction
	if held, _ := was.InUse(""); !scarce(before.Cap.Ports-held, before.Cap.Ports) {
		predicted = append(predicted, warnOfFewPorts(after, is)...)
	}
	if before.Auto.Len() == 0 || !scarce(was.Free(corev1.ProtocolTCP), before.Auto.Len()) {
		predicted = append(predicted, warnOfFewNumbers(after, is, corev1.ProtocolTCP)...)
	}
	return predicted
}

func predict(reason validation.Reason, part, message string) []Prediction {
	return []Prediction{{Problem: validation.Problem{Reason: reason, Field: part, Message: message}}}
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
