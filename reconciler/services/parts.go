package services

import (
	"context"
	"maps"
	"slices"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
	"nowake.ai/svc-lb-mux/validation"
)

// publishInParts retries a mux's patch that the API server refused. First it leaves out the annotations for people,
// which may be too large, and the DNS names, which a policy may forbid. If that doesn't help, the ports of one channel
// may be the cause, which must not affect the others: see isolate. It returns true if another plan must be made.
func (o *pass) publishInParts(ctx context.Context, p *plan.Plan, patch plan.MuxPatch, why error) (bool, error) {
	o.log(ctx).Info("the mux's patch was refused; trying its parts", "mux", p.Mux, "error", why.Error())
	all, tried := optionalParts(o.Language.Keys(), o.service.Annotations), []map[string]string{patch.Annotations}
	for _, parts := range [...][]optionalPart{all[:1], all[1:], all} {
		bare := patch
		for _, part := range parts {
			bare = part.without(bare)
		}
		known := func(annotations map[string]string) bool { return maps.Equal(annotations, bare.Annotations) }
		if !mayBeTooLarge(why) || slices.ContainsFunc(tried, known) {
			continue
		}
		tried = append(tried, bare.Annotations)
		if err := o.publishWithout(ctx, p, &bare, parts, why); err == nil || !refusal.Is(err) {
			return false, err
		}
	}
	if len(patch.Added) == 0 {
		return false, why
	}
	return o.isolate(ctx, p, why)
}

// optionalPart is a kind of annotations that the mux can do without.
type optionalPart struct {
	message string
	what    what
	without func(plan.MuxPatch) plan.MuxPatch
}

// optionalParts returns what a mux can do without. The annotations are those that the mux has.
func optionalParts(keys validation.Keys, annotations map[string]string) []optionalPart {
	return []optionalPart{
		{"what is written for people on the mux was refused", notes, func(patch plan.MuxPatch) plan.MuxPatch {
			return withoutNotes(patch, keys, annotations)
		}},
		{"the DNS names that are gathered on the mux were refused, and stay as they are", names,
			func(patch plan.MuxPatch) plan.MuxPatch {
				return withoutNames(patch, keys)
			}},
	}
}

// publishWithout writes the mux without some parts. If the API server accepts the rest, the parts were the cause.
func (o *pass) publishWithout(ctx context.Context, p *plan.Plan, bare *plan.MuxPatch, parts []optionalPart,
	why error) error {
	if isEmpty(bare) {
		o.giveTurnBack(p)
	} else {
		if err := o.patchMux(ctx, bare); err != nil {
			return err
		}
		o.tellPublished(bare, false)
	}
	for _, part := range parts {
		o.leaveOut(p, part, why)
	}
	return nil
}

// leaveOut leaves a part out until its next retry. The first time, it sends an Event.
func (o *pass) leaveOut(p *plan.Plan, part optionalPart, why error) {
	if _, known := o.memory.setbacks[write{what: part.what}]; !known {
		o.tell(o.service, plan.Event{
			Object: p.Mux, Warning: true, Reason: plan.MuxPatchRefused,
			Message: part.message + ": " + refusal.Words(why),
		})
	}
	o.memory.setbacks.failed(write{what: part.what}, o.Now())
}

// withoutNotes leaves out the annotations for people, and removes those that the mux has: names and ports need the
// room.
func withoutNotes(patch plan.MuxPatch, keys validation.Keys, there map[string]string) plan.MuxPatch {
	patch.Annotations = maps.Clone(patch.Annotations)
	for _, key := range [...]string{keys.Channels, keys.Topology, keys.Summary} {
		delete(patch.Annotations, key)
		if there[key] != "" {
			patch.Annotations[key] = "" // removes it
		}
	}
	return patch
}

// withoutNames leaves the DNS names on the mux as they are.
func withoutNames(patch plan.MuxPatch, keys validation.Keys) plan.MuxPatch {
	patch.Annotations = maps.Clone(patch.Annotations)
	delete(patch.Annotations, keys.AggregatedExternalDNS)
	for _, external := range validation.ExternalDNSOnMux() {
		delete(patch.Annotations, external.Hostname)
		delete(patch.Annotations, external.Proxied)
	}
	return patch
}

func isEmpty(patch *plan.MuxPatch) bool {
	return patch.Ports == nil && len(patch.Annotations) == 0 && patch.DropFinalizer == ""
}
