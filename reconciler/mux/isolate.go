package mux

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// mostIsolated is how many channels in a row are looked for one by one. If the API server refuses more than that, it refuses what it is
// given, whichever channel it is for: all others wait.
const mostIsolated = 3

// isolate finds the channel because of which the API server refuses a patch that adds ports. It decides again as if the last channels had
// been refused, tries that patch as a dry run, and so halves the number of suspects: ten dry runs among a thousand channels, and no
// write. The next pass leaves that channel out.
func (l *Line) isolate(ctx context.Context, o *observed, p *plan.Plan, why error) (bool, error) {
	adds := additions(o.service, p)
	added := slices.DeleteFunc(slices.Clone(p.Publish.Added), func(key types.NamespacedName) bool { return len(adds[key]) == 0 })
	if len(added) == 0 {
		return false, why
	}
	accepted, refused := 0, len(added)
	said, err := l.tryWithout(ctx, o, adds, added, why)
	if said != nil || err != nil {
		return false, why // the patch is refused without any addition
	}
	said = why
	for refused-accepted > 1 {
		middle := (accepted + refused) / 2
		no, err := l.tryWithout(ctx, o, adds, added[middle:], why)
		switch {
		case err != nil:
			return false, err
		case no != nil:
			refused, said = middle, no
		default:
			accepted = middle
		}
	}
	last := accepted + 1
	o.memory.isolated++
	if o.memory.isolated > mostIsolated || isOutOfNodePorts(said) {
		last = len(added)
	}
	for i, key := range added[accepted:last] {
		l.refuse(o, key, adds[key], said, i == 0)
	}
	return true, nil
}

// tryWithout tries the mux's patch as a dry run, as it would be without some channels. It returns what the API server refuses it for.
func (l *Line) tryWithout(ctx context.Context, o *observed, adds map[types.NamespacedName][]plan.Slot, without []types.NamespacedName, why error) (refusal, err error) {
	trial := *o
	trial.known.Refused = make(map[types.NamespacedName]plan.Refusal, len(o.known.Refused)+len(without))
	for key, no := range o.known.Refused {
		trial.known.Refused[key] = no
	}
	for _, key := range without {
		trial.known.Refused[key] = plan.Refusal{Words: words(why), Slots: adds[key], Withheld: true}
	}
	p := l.plan(&trial, plan.Mux)
	if p.Publish == nil || p.Freeze != nil {
		return nil, nil
	}
	patch := *p.Publish
	for _, part := range l.dispensable(o) {
		patch = part.without(patch)
	}
	patch.ResourceVersion = o.service.ResourceVersion
	err = l.patchMux(ctx, &trial, &patch, client.DryRunAll)
	if isRefusal(err) {
		return err, nil
	}
	return nil, err
}

// refuse has the next plan leave a channel out. The channel that was tried waits longer each time. Those that weren't tried are tried first
// the next time.
func (l *Line) refuse(o *observed, key types.NamespacedName, slots []plan.Slot, said error, tried bool) {
	at := slices.IndexFunc(o.world.Channels, func(c plan.ObservedChannel) bool { return c.Key == key })
	if at < 0 {
		return
	}
	now := l.Now()
	back := setback{}.again(now)
	if tried || isOutOfNodePorts(said) {
		back = o.memory.refused[key].again(now)
	}
	before, again := o.known.Refused[key]
	o.memory.refused[key] = refusal{
		setback: back, asked: asks(&o.world.Channels[at]),
		Refusal: plan.Refusal{Words: words(said), Slots: slots, Withheld: again && before.Words != ""},
	}
}

// additions are the numbers that come to the mux, by channel.
func additions(mux *corev1.Service, p *plan.Plan) map[types.NamespacedName][]plan.Slot {
	there := make(map[plan.Slot]bool, len(mux.Spec.Ports))
	for i := range mux.Spec.Ports {
		there[slotOf(&mux.Spec.Ports[i])] = true
	}
	adds := map[types.NamespacedName][]plan.Slot{}
	for i := range p.InForce {
		claim := &p.InForce[i]
		if claim.State == plan.Held && !there[claim.Slot()] {
			adds[claim.Owner.Channel] = append(adds[claim.Owner.Channel], claim.Slot())
		}
	}
	return adds
}

func slotOf(port *corev1.ServicePort) plan.Slot {
	protocol := port.Protocol
	if protocol == "" {
		protocol = corev1.ProtocolTCP
	}
	return plan.Slot{Number: port.Port, Protocol: protocol}
}
