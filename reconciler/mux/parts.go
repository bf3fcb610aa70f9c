package mux

import (
	"context"
	"maps"
	"slices"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// publishInParts is for a patch that the API server won't take as a whole. What is written for people may be too much, or a
// policy may forbid one of the DNS names: they are left out. Else it may be the ports of one channel, which mustn't harm the
// others: see isolate. It returns true if there is another plan to make.
func (l *Line) publishInParts(ctx context.Context, o *observed, p *plan.Plan, patch plan.MuxPatch, why error) (bool, error) {
	l.log(ctx).Info("the mux's patch was refused; trying its parts", "mux", p.Mux, "error", why.Error())
	all, tried := l.dispensable(o), []map[string]string{patch.Annotations}
	for _, parts := range [...][]dispensable{all[:1], all[1:], all} {
		bare := patch
		for _, part := range parts {
			bare = part.without(bare)
		}
		known := func(annotations map[string]string) bool { return maps.Equal(annotations, bare.Annotations) }
		if !isTooMuch(why) || slices.ContainsFunc(tried, known) {
			continue
		}
		tried = append(tried, bare.Annotations)
		if err := l.publishBare(ctx, o, p, &bare, parts, why); err == nil || !isRefusal(err) {
			return false, err
		}
	}
	if len(patch.Added) == 0 {
		return false, why
	}
	return l.isolate(ctx, o, p, why)
}

// dispensable is what a mux does without, if need be: a kind of its annotations.
type dispensable struct {
	what    string
	later   *setback
	without func(plan.MuxPatch) plan.MuxPatch
}

func (l *Line) dispensable(o *observed) []dispensable {
	keys := l.Language.Keys()
	return []dispensable{
		{"what is written for people on the mux was refused", &o.memory.notes, func(patch plan.MuxPatch) plan.MuxPatch {
			return withoutNotes(patch, keys, o.service.Annotations)
		}},
		{"the DNS names that are gathered on the mux were refused, and stay as they are", &o.memory.names, func(patch plan.MuxPatch) plan.MuxPatch {
			return withoutNames(patch, keys)
		}},
	}
}

// publishBare does without some parts. Only if that is taken were they to blame.
func (l *Line) publishBare(ctx context.Context, o *observed, p *plan.Plan, bare *plan.MuxPatch, parts []dispensable, why error) error {
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

// leaveOut has the mux do without a part, and try it again later. It is told the first time.
func (l *Line) leaveOut(o *observed, p *plan.Plan, part dispensable, why error) {
	if *part.later == (setback{}) {
		l.tell(o.service, plan.Event{
			Object: p.Mux, Warning: true, Reason: plan.MuxPatchRefused,
			Message: part.what + ": " + words(why),
		})
	}
	*part.later = part.later.again(l.Now())
}

// withoutNotes takes away what is written for people, also what was written before: it takes room that names and ports need.
func withoutNotes(patch plan.MuxPatch, keys validation.Keys, there map[string]string) plan.MuxPatch {
	patch.Annotations = maps.Clone(patch.Annotations)
	for _, key := range [...]string{keys.Channels, keys.Topology, keys.Summary} {
		delete(patch.Annotations, key)
		if there[key] != "" {
			patch.Annotations[key] = "" // which takes it away
		}
	}
	return patch
}

// withoutNames leaves the DNS names as they are on the mux.
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
