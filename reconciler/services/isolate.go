package services

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
	"nowake.ai/svc-lb-mux/validation"
)

// maxIsolated is how many channels may be left out one by one, in passes that follow each other. If the API server
// refuses still more, the cause is probably not a channel: all newcomers wait.
const maxIsolated = 3

// isolate finds the channel that makes the API server refuse a patch with new ports. It decides again without some of
// the last channels, tries that patch as a dry run, and so halves the number of suspects. A thousand channels take ten
// dry runs and no write. The next pass leaves the channel out.
func (o *pass) isolate(ctx context.Context, p *plan.Plan, why error) (bool, error) {
	adds := additions(o.service, validation.ParseRanges(o.service.Annotations[o.Language.Keys().Ranges]), p)
	added := slices.DeleteFunc(slices.Clone(p.Publish.Added), func(key types.NamespacedName) bool {
		return len(adds[key]) == 0
	})
	if len(added) == 0 {
		return false, why
	}
	accepted, refused := 0, len(added)
	reason, err := o.tryWithout(ctx, adds, added, why)
	if reason != nil || err != nil {
		return false, why // the patch is refused without any addition
	}
	reason = why
	for refused-accepted > 1 {
		middle := (accepted + refused) / 2
		refusalErr, err := o.tryWithout(ctx, adds, added[middle:], why)
		switch {
		case err != nil:
			return false, err
		case refusalErr != nil:
			refused, reason = middle, refusalErr
		default:
			accepted = middle
		}
	}
	last := accepted + 1
	o.memory.isolated++
	if o.memory.isolated > maxIsolated || refusal.OutOfNodePorts(reason) {
		last = len(added)
	}
	for i, key := range added[accepted:last] {
		o.refuse(key, adds[key], reason, i == 0)
	}
	return true, nil
}

// tryWithout sends the mux's patch without some channels as a dry run. It returns the API server's refusal; nil if
// there was none. Channels to which the plan adds nothing get nothing in the dry run either: otherwise they could get
// the numbers of the channels that are left out.
func (o *pass) tryWithout(ctx context.Context, adds map[types.NamespacedName][]plan.Slot,
	without []types.NamespacedName, why error) (reason, err error) {
	trial := *o
	trial.known.Refused = make(map[types.NamespacedName]plan.PatchRefusal, len(o.known.Refused)+len(without))
	for i := range o.world.Channels {
		if key := o.world.Channels[i].Key; len(adds[key]) == 0 {
			trial.known.Refused[key] = plan.PatchRefusal{Words: refusal.Words(why)}
		}
	}
	maps.Copy(trial.known.Refused, o.known.Refused)
	for _, key := range without {
		trial.known.Refused[key] = plan.PatchRefusal{Words: refusal.Words(why), Slots: adds[key], Withheld: true}
	}
	p := trial.plan(plan.Mux)
	if p.Publish == nil || p.Freeze != nil {
		return nil, nil
	}
	patch := *p.Publish
	for _, part := range optionalParts(o.Language.Keys(), o.service.Annotations) {
		patch = part.without(patch)
	}
	patch.ResourceVersion = o.service.ResourceVersion
	err = trial.patchMux(ctx, &patch, client.DryRunAll)
	if refusal.Is(err) {
		return err, nil
	}
	return nil, err
}

// refuse makes the next plans leave a channel out. The pause of a channel that was tried grows each time. The others
// get the shortest pause, so that they are tried first the next time. If node ports are used up, the pauses of all
// grow.
func (o *pass) refuse(key types.NamespacedName, slots []plan.Slot, reason error, tried bool) {
	at := slices.IndexFunc(o.world.Channels, func(c plan.ObservedChannel) bool { return c.Key == key })
	if at < 0 {
		return
	}
	w := write{itsPorts, key}
	if !tried && !refusal.OutOfNodePorts(reason) {
		delete(o.memory.setbacks, w)
	}
	o.memory.setbacks.failed(w, o.Now())
	before, again := o.known.Refused[key]
	o.memory.refused[key] = refused{
		request:      hashRequest(&o.world.Channels[at]),
		PatchRefusal: plan.PatchRefusal{Words: refusal.Words(reason), Slots: slots, Withheld: again && before.Words != ""},
	}
}

// additions returns the slots that a plan adds to the mux, by channel.
func additions(mux *corev1.Service, ranges []validation.MuxRange, p *plan.Plan) map[types.NamespacedName][]plan.Slot {
	there := slotsOf(mux.Spec.Ports, ranges)
	adds := map[types.NamespacedName][]plan.Slot{}
	for i := range p.InForce {
		claim := &p.InForce[i]
		if claim.State == plan.Held && !there[claim.Slot()] {
			adds[claim.Owner.Channel] = append(adds[claim.Owner.Channel], claim.Slot())
		}
	}
	return adds
}

// slotsOf returns the numbers of ports, and the first number of each range.
func slotsOf(ports []corev1.ServicePort, ranges []validation.MuxRange) map[plan.Slot]bool {
	slots := make(map[plan.Slot]bool, len(ports)+len(ranges))
	for i := range ports {
		slots[plan.SlotOf(&ports[i])] = true
	}
	for _, r := range ranges {
		slots[plan.Slot{Number: r.Run.First, Protocol: r.Protocol}] = true
	}
	return slots
}
