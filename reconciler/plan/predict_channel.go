package plan

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// Channel predicts what becomes of a channel of this mux that is made, or changed from what it was; before is nil if it
// was none of this mux. It says what the change brings: nothing of one that asks for what it asked for before, and
// nothing twice. With hide, nobody in other namespaces is named: neither holders nor who else may attach.
func (o *Outlook) Channel(before *ObservedChannel, after ObservedChannel, hide bool) []Prediction {
	if before != nil && before.Mux != after.Mux {
		before = nil
	}
	switch {
	case len(after.Problems) > 0 || after.Disabled || after.Deleting:
		return nil // it is refused for that, or withdrawn on purpose
	case before != nil && asksAlike(before, &after):
		return nil
	}
	now := o.try(&after)
	if now.refused {
		return o.refusal(before, &after, now, hide)
	}
	if !now.accepted {
		return nil
	}
	return append(o.runningOut(&after, now), o.ungathered(before, now)...)
}

func asksAlike(a, b *ObservedChannel) bool {
	return len(a.Problems) == 0 && a.Disabled == b.Disabled && slices.Equal(a.Ports, b.Ports) &&
		slices.Equal(a.Hostnames, b.Hostnames) && slices.Equal(a.Direct, b.Direct)
}

// outcome is what is decided about one channel.
type outcome struct {
	*pass
	*verdict
	refused bool
}

// try decides about the channel after all others. What it was about to get itself, it gets only if it still asks for it.
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
	refused := !v.accepted && !v.deferred && !v.keepsSaid && !p.awaitsGuess(v.refusal)
	return outcome{p, v, refused}
}

// awaitsGuess is true if a number is refused only because it was picked for somebody who hasn't got it yet: numbers
// asked for come first, and the other gets another one.
func (p *pass) awaitsGuess(no *refusal) bool {
	if no == nil || no.slot.Number == 0 {
		return false
	}
	holder := p.holders.at(no.slot)
	return holder != nil && holder.Source == Auto && !p.live.has(holder)
}

// refusal tells of a channel that won't get what it asks for, unless it was told before.
func (o *Outlook) refusal(before, after *ObservedChannel, now outcome, hide bool) []Prediction {
	was := o.tried(before)
	if was.refused && was.reason == now.reason && was.message == now.message {
		return nil
	}
	said := Prediction{
		Problem: validation.Problem{Reason: now.reason, Field: "spec.loadBalancerClass", Message: now.message},
		Effect:  textNothing(),
	}
	if now.reason == HostnameNotAllowed {
		key := now.byKey[after.Key].Direct[0].Key
		if forbidden, _ := now.allowed.forbidden(now.byKey[after.Key]); len(forbidden) > 0 {
			key = forbidden[0].Key
		}
		said.Field = "metadata.annotations[" + key + "]"
	}
	switch {
	case now.attached:
		said.Effect = textKeeps()
	case o.mayHold(before, now):
		said.Effect = textUnlessHeld()
	}
	said.Proven = !o.mayHold(before, now) && !o.mends(before, after, was, now) && o.proves(after, now)
	if hide && now.reason == NamespaceNotAllowed {
		said.Message = textHiddenNamespaces(after.Mux, after.Key.Namespace)
	}
	if no := now.verdict.refusal; no != nil && no.isAboutPorts() {
		said.Field, said.Port = o.asked(after, no)
		if no.holder.Name != "" && hide && no.holder.Namespace != after.Key.Namespace {
			said.Message = textHiddenHolder(said.Port, no.slot)
		}
		if no.advice != "" {
			said.Message += ": " + no.advice
		}
	}
	return []Prediction{said}
}

// asked is the part of the channel that asks for what is refused, and its port if it is one.
func (o *Outlook) asked(c *ObservedChannel, no *refusal) (part, name string) {
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

// runningOut tells of a channel that takes some of the last numbers or places.
func (o *Outlook) runningOut(c *ObservedChannel, now outcome) []Prediction {
	had := o.count(c)
	has := map[corev1.Protocol]int{} // picked, by protocol
	more := -had.all
	for _, claim := range now.claimsOf(c.Key) {
		if claim.held() {
			more++
			if claim.Source == Auto {
				has[claim.Owner.Protocol]++
			}
		}
	}
	var said []Prediction
	if more > 0 {
		said = append(now.fewPlaces(), now.fewOf(c.Key.Namespace)...)
	}
	for _, protocol := range [...]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		if has[protocol] > had.picked[protocol] {
			said = append(said, now.fewNumbers(protocol)...)
		}
	}
	return said
}

// ungathered tells of DNS names that the mux doesn't allow. Who has one of the others first, only the ledger knows.
func (o *Outlook) ungathered(before *ObservedChannel, now outcome) []Prediction {
	var was []note
	if before != nil {
		was = o.try(before).notes
	}
	var said []Prediction
	for _, note := range now.notes {
		if note.reason == HostnameNotAllowed && len(said) < maxNotes && !slices.Contains(was, note) {
			// What external-dns takes from the channel itself, no ledger has anything to say about.
			key := cmp.Or(note.denied.key, o.world.Keys.ChannelHostname)
			said = append(said, Prediction{Proven: note.denied.key != "", Problem: validation.Problem{
				Reason: note.reason, Field: "metadata.annotations[" + key + "]", Message: now.textOf(note),
			}})
		}
	}
	return said
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
