package mux

import (
	"context"
	"maps"
	"slices"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// publishInParts retries a mux's patch that the API server refused. First it leaves out the annotations for people,
// which may be too large, and the DNS names, which a policy may forbid. If that doesn't help, the ports of one channel
// may be the cause, which must not affect the others: see isolate. It returns true if another plan must be made.
func (l *Line) publishInParts(ctx context.Context, o *observed, p *plan.Plan, patch plan.MuxPatch, why error) (bool, error) {
	l.log(ctx).Info("the mux's patch was refused; trying its parts", "mux", p.Mux, "error", why.Error())
	all, tried := l.optionalParts(o), []map[string]string{patch.Annotations}
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
		if err := l.publishWithout(ctx, o, p, &bare, parts, why); err == nil || !isRefusal(err) {
			return false, err
		}
	}
	if len(patch.Added) == 0 {
		return false, why
	}
	return l.isolate(ctx, o, p, why)
}

// optionalPart is a kind of annotations that the mux can do without.
type optionalPart struct {
	message string
	retry   *setback
	without func(plan.MuxPatch) plan.MuxPatch
}

func (l *Line) optionalParts(o *observed) []optionalPart {
	keys := l.Language.Keys()
	return []optionalPart{
		{"what is written for people on the mux was refused", &o.memory.notes, func(patch plan.MuxPatch) plan.MuxPatch {
			return withoutNotes(patch, keys, o.service.Annotations)
		}},
		{"the DNS names that are gathered on the mux were refused, and stay as they are", &o.memory.names, func(patch plan.MuxPatch) plan.MuxPatch {
			return withoutNames(patch, keys)
		}},
	}
}

// publishWithout writes the mux without some parts. If the API server accepts that, the parts were the cause.
func (l *Line) publishWithout(ctx context.Context, o *observed, p *plan.Plan, bare *plan.MuxPatch, parts []optionalPart, why error) error {
	if !isEmpty(bare) {
		if err := l.patchMux(ctx, o, bare); err != nil {
			return err
		}
		l.tellPublished(o, bare, false)
	}
	for _, part := range parts {
		l.leaveOut(o, p, part, why)
	}
	return nil
}

// leaveOut leaves a part out until its next retry. The first time, it sends an Event.
func (l *Line) leaveOut(o *observed, p *plan.Plan, part optionalPart, why error) {
	if *part.retry == (setback{}) {
		l.tell(o.service, plan.Event{
			Object: p.Mux, Warning: true, Reason: plan.MuxPatchRefused,
			Message: part.message + ": " + messageOf(why),
		})
	}
	*part.retry = part.retry.next(l.Now())
}

// withoutNotes removes the annotations for people, also from the mux: names and ports need the room.
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
	for _, key := range [...]string{validation.ExternalDNSHostname, validation.CloudflareProxied, keys.AggregatedExternalDNS} {
		delete(patch.Annotations, key)
	}
	return patch
}

func isEmpty(patch *plan.MuxPatch) bool {
	return patch.Ports == nil && len(patch.Annotations) == 0 && patch.DropFinalizer == ""
}
