package forecast

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Channel predicts the result for a new or changed channel of this mux. before is nil if the Service was no channel of
// this mux. Channel predicts only what the change itself causes. With hide, the messages name no channels of other
// namespaces, and no other namespaces that may attach.
func (o *Outlook) Channel(before *plan.ObservedChannel, after plan.ObservedChannel, hide bool) []Prediction {
	if before != nil && before.Mux != after.Mux {
		before = nil
	}
	if after.Deleting || before != nil && sameRequests(before, &after) {
		return nil
	}
	names := o.forbiddenNames(before, &after)
	if len(after.Problems) > 0 || after.Disabled {
		return names // refused for its problems, or withdrawn on purpose
	}
	switch now := o.try(&after); {
	case now.IsRefused && now.Reason == plan.HostnameNotAllowed && len(names) > 0: // refused because of one of these names
	case now.IsRefused:
		names = append(names, o.refusal(before, &after, &now, hide)...)
	case now.IsAccepted:
		names = append(append(names, o.warnOfScarcity(&after, &now)...), o.warnOfHostnames(before, &now)...)
	}
	return names
}

func sameRequests(a, b *plan.ObservedChannel) bool {
	return len(a.Problems) == 0 && a.Disabled == b.Disabled && a.SourceRanges == b.SourceRanges &&
		a.SourceRangeCount == b.SourceRangeCount &&
		slices.Equal(a.Ports, b.Ports) &&
		slices.Equal(a.Hostnames, b.Hostnames) && slices.Equal(a.Direct, b.Direct)
}

// outcome is the decision about one channel.
type outcome struct {
	plan.Answer
	of plan.Judgement
}

// try decides about the channel after all others. Claims that the channel was about to get don't count: the decision
// gives them again if the channel still asks for them.
func (o *Outlook) try(c *plan.ObservedChannel) outcome {
	claims := slices.Clip(o.onMux)
	for i := range o.coming {
		if o.coming[i].Owner.Channel != c.Key {
			claims = append(claims, o.coming[i])
		}
	}
	return o.tryAmong(c, claims)
}

func (o *Outlook) tryAmong(c *plan.ObservedChannel, claims []plan.Claim) outcome {
	of := o.decided(o.world.Mux, claims, *c)
	return outcome{of.Of(c.Key), of}
}

// refusal predicts that the channel won't get its ports. It returns nil if the channel was refused for the same reason
// before.
func (o *Outlook) refusal(before, after *plan.ObservedChannel, now *outcome, hide bool) []Prediction {
	was := o.outcomeBefore(before)
	if was.IsRefused && was.Reason == now.Reason && was.Message == now.Message {
		return nil
	}
	predicted := Prediction{
		Problem: validation.Problem{Reason: now.Reason, Field: "spec.loadBalancerClass", Message: now.Message},
		Effect:  textNothing(),
	}
	switch {
	case now.Key != "":
		predicted.Field = "metadata.annotations[" + now.Key + "]"
	case now.Reason == validation.SourceRangesNotSupported, now.Reason == plan.SourceRangesExceeded:
		predicted.Field = "spec.loadBalancerSourceRanges"
	}
	switch {
	case was.IsAttached && !now.IsAttached && predicted.Field == "spec.loadBalancerSourceRanges":
		predicted.Effect = textLoses()
	case now.IsAttached:
		predicted.Effect = textKeeps()
	case o.mayHold(before, now):
		predicted.Effect = textUnlessHeld()
	}
	predicted.Proven = !o.mayHold(before, now) && !o.asksNothingNew(before, after, &was, now) &&
		o.isProvenByPorts(after, now)
	if hide && now.Reason == plan.NamespaceNotAllowed {
		predicted.Message = textHiddenNamespaces(after.Mux, after.Key.Namespace)
	}
	if no := now.Refused; no != nil {
		predicted.Field, predicted.Port = o.refusedField(after, no)
		if no.Holder.Name != "" && hide && no.Holder.Namespace != after.Key.Namespace {
			predicted.Message = textHiddenHolder(predicted.Port, no.Slot)
		}
		if no.Advice != "" {
			predicted.Message += ": " + no.Advice
		}
	}
	return []Prediction{predicted}
}

// refusedField returns the field with the refused request, and the name of the port that makes the request; without
// such a port the name is empty.
func (o *Outlook) refusedField(c *plan.ObservedChannel, no *plan.RefusedPorts) (part, name string) {
	external := "metadata.annotations[" + o.world.Keys.ExternalPorts + "]"
	for i := range c.Ports {
		port := &c.Ports[i]
		if no.UsedUp != "" && port.Request.Kind == validation.Auto && port.Protocol == no.UsedUp {
			return external, port.Name
		}
		if no.Slot.Number == 0 && port.Request.IsRange() {
			return external, port.Name
		}
		if run := port.Request.Run(); no.Slot.Number < max(run.First, 1) || no.Slot.Number > run.Last ||
			port.Protocol != no.Slot.Protocol {
			continue
		}
		if port.Request.Kind == validation.Number {
			return external, port.Name
		}
		return "spec.ports", port.Name
	}
	return "spec.ports", ""
}

// warnOfScarcity warns if the channel takes some of the last numbers or ports.
func (o *Outlook) warnOfScarcity(c *plan.ObservedChannel, now *outcome) []Prediction {
	had, has := count(c.Key, o.onMux, o.coming), count(c.Key, now.of.ClaimsOf(c.Key))
	var predicted []Prediction
	if has.all > had.all {
		predicted = append(warnOfFewPorts(o.world.Mux, now.of), warnOfQuota(o.world.Mux, now.of, c.Key.Namespace)...)
	}
	for _, protocol := range [...]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		if has.picked[protocol] > had.picked[protocol] {
			predicted = append(predicted, warnOfFewNumbers(o.world.Mux, now.of, protocol)...)
		}
	}
	return predicted
}

// forbiddenNames predicts which names the change gives to external-dns although the mux doesn't allow them. This
// doesn't depend on ports: external-dns publishes them for the address that the channel has, or for the target that it
// names.
func (o *Outlook) forbiddenNames(before, after *plan.ObservedChannel) []Prediction {
	if o.world.Mux == nil || len(o.world.Mux.Problems) > 0 {
		return nil
	}
	var was []plan.Remark
	if before != nil {
		was = plan.ForbiddenNames(o.world.Mux, before)
	}
	var predicted []Prediction
	for _, name := range plan.ForbiddenNames(o.world.Mux, after) {
		if len(predicted) < plan.MaxRemarks && !slices.Contains(was, name) {
			predicted = append(predicted, Prediction{Proven: true, Problem: validation.Problem{
				Reason: name.Reason, Field: "metadata.annotations[" + name.Key + "]", Message: name.Message,
			}})
		}
	}
	return predicted
}

// warnOfHostnames warns of DNS names that the mux won't gather. Names that another namespace may hold aren't predicted:
// only the ledger records the holders.
func (o *Outlook) warnOfHostnames(before *plan.ObservedChannel, now *outcome) []Prediction {
	var was []plan.Remark
	if before != nil {
		was = o.try(before).Remarks
	}
	var predicted []Prediction
	for _, remark := range now.Remarks {
		if remark.Reason == plan.HostnameNotAllowed && remark.Key == "" && len(predicted) < plan.MaxRemarks &&
			!slices.Contains(was, remark) {
			predicted = append(predicted, Prediction{Problem: validation.Problem{
				Reason: remark.Reason, Field: "metadata.annotations[" + o.world.Keys.ChannelHostname + "]", Message: remark.Message,
			}})
		}
	}
	return predicted
}

// claimCount counts a channel's claims, and separately those with a picked number, by protocol.
type claimCount struct {
	all    int
	picked map[corev1.Protocol]int
}

func count(channel types.NamespacedName, lists ...[]plan.Claim) claimCount {
	count := claimCount{picked: map[corev1.Protocol]int{}}
	for _, claims := range lists {
		for i := range claims {
			claim := &claims[i]
			if claim.Owner.Channel != channel {
				continue
			}
			count.all++
			if claim.Source == plan.Auto {
				count.picked[claim.Owner.Protocol]++
			}
		}
	}
	return count
}
