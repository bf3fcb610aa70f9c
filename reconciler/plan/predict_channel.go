package plan

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// Channel predicts the result for a new or changed channel of this mux. before is nil if it was no channel of this mux.
// Only what the change causes is predicted. With hide, the messages name no channels of other namespaces, and no other
// namespaces that may attach.
func (o *Outlook) Channel(before *ObservedChannel, after ObservedChannel, hide bool) []Prediction {
	if before != nil && before.Mux != after.Mux {
		before = nil
	}
	switch {
	case len(after.Problems) > 0 || after.Disabled || after.Deleting:
		return nil // refused for its problems, or withdrawn on purpose
	case before != nil && sameRequests(before, &after):
		return nil
	}
	now := o.try(&after)
	if now.refused {
		return o.refusal(before, &after, now, hide)
	}
	if !now.accepted {
		return nil
	}
	return append(o.warnOfScarcity(&after, now), o.warnOfForbiddenNames(before, now)...)
}

func sameRequests(a, b *ObservedChannel) bool {
	return len(a.Problems) == 0 && a.Disabled == b.Disabled && slices.Equal(a.Ports, b.Ports) &&
		slices.Equal(a.Hostnames, b.Hostnames) && slices.Equal(a.Direct, b.Direct)
}

// outcome is the decision about one channel.
type outcome struct {
	*pass
	*verdict
	refused bool
}

// try decides about the channel after all others. Claims that it was about to get count only if it still asks for them.
func (o *Outlook) try(c *ObservedChannel) outcome {
	claims := slices.Clip(o.onMux)
	for i := range o.coming {
		if o.coming[i].Owner.Channel != c.Key {
			claims = append(claims, o.coming[i])
		}
	}
	return o.tryAmong(c, claims)
}

func (o *Outlook) tryAmong(c *ObservedChannel, claims []Claim) outcome {
	p := o.decided(o.world.Mux, claims, *c)
	v := &p.byKey[c.Key].verdict
	refused := !v.accepted && !v.deferred && !v.keepsSaid && !p.isBlockedByPick(v.refusal)
	return outcome{p, v, refused}
}

// isBlockedByPick is true if a number is refused only because it was picked for a channel that isn't on the mux yet.
// Requested numbers come before picked ones, so the other channel gets another number.
func (p *pass) isBlockedByPick(no *refusal) bool {
	if no == nil || no.slot.Number == 0 {
		return false
	}
	holder := p.holders.at(no.slot)
	return holder != nil && holder.Source == Auto && !p.live.has(holder)
}

// refusal predicts that the channel won't get its ports. It returns nil if the channel was refused for the same reason
// before.
func (o *Outlook) refusal(before, after *ObservedChannel, now outcome, hide bool) []Prediction {
	was := o.outcomeBefore(before)
	if was.refused && was.reason == now.reason && was.message == now.message {
		return nil
	}
	predicted := Prediction{
		Problem: validation.Problem{Reason: now.reason, Field: "spec.loadBalancerClass", Message: now.message},
		Effect:  textNothing(),
	}
	if now.reason == HostnameNotAllowed {
		key := now.byKey[after.Key].Direct[0].Key
		if forbidden, _ := now.allowed.forbidden(now.byKey[after.Key]); len(forbidden) > 0 {
			key = forbidden[0].Key
		}
		predicted.Field = "metadata.annotations[" + key + "]"
	}
	switch {
	case now.attached:
		predicted.Effect = textKeeps()
	case o.mayHold(before, now):
		predicted.Effect = textUnlessHeld()
	}
	predicted.Proven = !o.mayHold(before, now) && !o.asksNothingNew(before, after, was, now) && o.isProvenByPorts(after, now)
	if hide && now.reason == NamespaceNotAllowed {
		predicted.Message = textHiddenNamespaces(after.Mux, after.Key.Namespace)
	}
	if no := now.verdict.refusal; no != nil && no.isAboutPorts() {
		predicted.Field, predicted.Port = o.refusedField(after, no)
		if no.holder.Name != "" && hide && no.holder.Namespace != after.Key.Namespace {
			predicted.Message = textHiddenHolder(predicted.Port, no.slot)
		}
		if no.advice != "" {
			predicted.Message += ": " + no.advice
		}
	}
	return []Prediction{predicted}
}

// refusedField returns the field that holds the refused request, and the name of its port, if it is one.
func (o *Outlook) refusedField(c *ObservedChannel, no *refusal) (part, name string) {
	external := "metadata.annotations[" + o.world.Keys.ExternalPorts + "]"
	for i := range c.Ports {
		port := &c.Ports[i]
		if no.usedUp != "" && port.Request.Kind == validation.Auto && port.Protocol == no.usedUp {
			return external, port.Name
		}
		if no.slot.Number == 0 || port.Protocol != no.slot.Protocol || port.Request.Number != no.slot.Number {
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
func (o *Outlook) warnOfScarcity(c *ObservedChannel, now outcome) []Prediction {
	had := o.count(c)
	has := map[corev1.Protocol]int{} // picked numbers, by protocol
	more := -had.all
	for _, claim := range now.claimsOf(c.Key) {
		if claim.held() {
			more++
			if claim.Source == Auto {
				has[claim.Owner.Protocol]++
			}
		}
	}
	var predicted []Prediction
	if more > 0 {
		predicted = append(now.warnOfFewPorts(), now.warnOfQuota(c.Key.Namespace)...)
	}
	for _, protocol := range [...]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		if has[protocol] > had.picked[protocol] {
			predicted = append(predicted, now.warnOfFewNumbers(protocol)...)
		}
	}
	return predicted
}

// warnOfForbiddenNames warns of DNS names that the mux doesn't allow. Names that another namespace may hold aren't predicted:
// only the ledger records the holders.
func (o *Outlook) warnOfForbiddenNames(before *ObservedChannel, now outcome) []Prediction {
	var was []note
	if before != nil {
		was = o.try(before).notes
	}
	var predicted []Prediction
	for _, note := range now.notes {
		if note.reason == HostnameNotAllowed && len(predicted) < maxNotes && !slices.Contains(was, note) {
			// Names that external-dns takes from the channel itself aren't in the ledger, so the refusal is proven.
			key := cmp.Or(note.denied.key, o.world.Keys.ChannelHostname)
			predicted = append(predicted, Prediction{Proven: note.denied.key != "", Problem: validation.Problem{
				Reason: note.reason, Field: "metadata.annotations[" + key + "]", Message: now.textOf(note),
			}})
		}
	}
	return predicted
}

type claimCount struct {
	all    int
	picked map[corev1.Protocol]int
}

func (o *Outlook) count(c *ObservedChannel) claimCount {
	count := claimCount{picked: map[corev1.Protocol]int{}}
	for _, claims := range [...][]Claim{o.onMux, o.coming} {
		for i := range claims {
			claim := &claims[i]
			if claim.Owner.Channel != c.Key {
				continue
			}
			count.all++
			if claim.Source == Auto {
				count.picked[claim.Owner.Protocol]++
			}
		}
	}
	return count
}
