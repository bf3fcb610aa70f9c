package mux

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// publishInParts is for a patch that the API server won't take as a whole. What is written for people may be too much:
// it is left out. Else it may be the ports of one channel, which mustn't harm the others: what goes is taken off
// first, then channels are added by halves, until it is known which are refused. It returns true if any were.
func (l *Line) publishInParts(ctx context.Context, o *observed, p *plan.Plan, patch plan.MuxPatch, why error) (bool, error) {
	l.log(ctx).Info("the mux's patch was refused; trying its parts", "mux", p.Mux, "error", why.Error())
	bare := withoutNotes(patch, l.Language.Keys(), o.service.Annotations)
	if isTooMuch(why) && !maps.Equal(bare.Annotations, patch.Annotations) {
		patch = bare
		err := l.publishBare(ctx, o, p, &patch, why)
		if err == nil || !isRefusal(err) {
			return false, err
		}
		why = err
	}
	if len(patch.Added) == 0 {
		return false, why
	}
	return l.publishByHalves(ctx, o, p, patch)
}

// publishBare does without what is written for people. Only if that is taken was it too much.
func (l *Line) publishBare(ctx context.Context, o *observed, p *plan.Plan, bare *plan.MuxPatch, why error) error {
	if !isEmpty(bare) {
		if err := l.patchMux(ctx, o, bare); err != nil {
			return err
		}
		l.tellPublished(o, bare, false)
	}
	l.leaveNotesOut(o, p, why)
	return nil
}

// leaveNotesOut has the mux do without what is written for people, and try it again later. It is told the first time.
func (l *Line) leaveNotesOut(o *observed, p *plan.Plan, why error) {
	if o.memory.notes == (setback{}) {
		l.tell(o.service, plan.Event{
			Object: p.Mux, Warning: true, Reason: plan.MuxPatchRefused,
			Message: "what is written for people on the mux was refused: " + words(why),
		})
	}
	o.memory.notes = o.memory.notes.again(l.Now())
}

// halves is what is found out about the channels that a patch adds.
type halves struct {
	line    *Line
	o       *observed
	patch   plan.MuxPatch
	ports   []corev1.ServicePort                          // accepted so far
	of      map[types.NamespacedName][]corev1.ServicePort // that each channel adds
	refused map[types.NamespacedName]string
	// inRow counts channels that were refused one after the other: at the bottom of an empty well, asking everybody
	// would take as many writes as there are channels.
	inRow int
	last  string
}

// enough refusals in a row are taken for all that follow.
const enough = 5

func (l *Line) publishByHalves(ctx context.Context, o *observed, p *plan.Plan, patch plan.MuxPatch) (bool, error) {
	h := &halves{
		line: l, o: o, patch: patch, refused: map[types.NamespacedName]string{},
		of: map[types.NamespacedName][]corev1.ServicePort{},
	}
	h.sort(p)
	if err := h.try(ctx, h.ports); err != nil {
		return false, err // which isn't for anything that a channel adds
	}
	if err := h.add(ctx, slices.SortedFunc(maps.Keys(h.of), plan.CompareKeys)); err != nil {
		return false, err
	}
	h.remember()
	return true, nil
}

// sort parts what every channel adds from the rest. A Service needs one port: if nothing else is left, it keeps those
// that it has.
func (h *halves) sort(p *plan.Plan) {
	owner := make(map[string]types.NamespacedName, len(p.InForce))
	for i := range p.InForce {
		owner[p.InForce[i].MuxName] = p.InForce[i].Owner.Channel
	}
	for _, port := range h.patch.Ports {
		if channel, ours := owner[port.Name]; ours && slices.Contains(h.patch.Added, channel) && !isOn(h.o.service, &port) {
			h.of[channel] = append(h.of[channel], port)
			continue
		}
		h.ports = append(h.ports, port)
	}
	if len(h.ports) == 0 {
		h.ports = slices.Clone(h.o.service.Spec.Ports)
	}
}

func isOn(svc *corev1.Service, port *corev1.ServicePort) bool {
	return slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Port == port.Port && p.Protocol == port.Protocol
	})
}

func (h *halves) try(ctx context.Context, ports []corev1.ServicePort) error {
	part := h.patch
	part.Ports, part.ResourceVersion = ports, h.o.service.ResourceVersion
	return h.line.patchMux(ctx, h.o, &part)
}

func (h *halves) add(ctx context.Context, channels []types.NamespacedName) error {
	if len(channels) == 0 {
		return nil
	}
	if h.inRow >= enough {
		for _, channel := range channels {
			h.refused[channel] = h.last
		}
		return nil
	}
	ports := slices.Clone(h.ports)
	for _, channel := range channels {
		ports = append(ports, h.of[channel]...)
	}
	err := h.try(ctx, ports)
	switch {
	case err == nil:
		h.ports, h.inRow = ports, 0
		return nil
	case !isRefusal(err):
		return err
	case len(channels) == 1:
		h.last = words(err)
		h.refused[channels[0]] = h.last
		h.inRow++
		return nil
	}
	half := len(channels) / 2
	if err := h.add(ctx, channels[:half]); err != nil {
		return err
	}
	return h.add(ctx, channels[half:])
}

// remember has the next plan leave them out.
func (h *halves) remember() {
	now := h.line.Now()
	for i := range h.o.world.Channels {
		c := &h.o.world.Channels[i]
		said, refused := h.refused[c.Key]
		if !refused {
			continue
		}
		last := h.o.memory.refused[c.Key]
		h.o.memory.refused[c.Key] = refusal{setback: last.again(now), words: said, asked: asks(c), slots: slotsOf(h.of[c.Key])}
	}
}

func slotsOf(ports []corev1.ServicePort) []plan.Slot {
	slots := make([]plan.Slot, len(ports))
	for i := range ports {
		slots[i] = plan.Slot{Number: ports[i].Port, Protocol: ports[i].Protocol}
	}
	return slots
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

func isEmpty(patch *plan.MuxPatch) bool {
	return patch.Ports == nil && len(patch.Annotations) == 0 && patch.DropFinalizer == ""
}
