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

// publishInParts is for a patch that the API server won't take as a whole. What is written for people may be too much, or a
// policy may forbid one of the DNS names: they are left out. Else it may be the ports of one channel, which mustn't harm the
// others: first comes what adds nothing, then channels are added by halves, until it is known which are refused. It returns true
// if there is another plan to make.
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
	for _, part := range all {
		patch = part.without(patch)
	}
	if len(patch.Added) == 0 {
		return false, why
	}
	return l.publishByHalves(ctx, o, p, patch)
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

// halves is what is found out about the channels that a patch adds.
type halves struct {
	line    *Line
	o       *observed
	patch   plan.MuxPatch
	ports   []corev1.ServicePort                          // accepted so far
	to      map[types.NamespacedName][]corev1.ServicePort // what each channel that adds ports is to have
	adds    map[types.NamespacedName][]plan.Slot          // and which of them come to the mux
	slots   map[plan.Slot]types.NamespacedName            // whose port it is that stays or goes
	names   map[string]types.NamespacedName               // the same, by its name
	refused map[types.NamespacedName]error
	untried map[types.NamespacedName]bool
	// inRow counts channels that were refused one after the other: at the bottom of an empty well, asking everybody
	// would take as many writes as there are channels.
	inRow int
	last  error
}

// enough refusals in a row are taken for all that follow, for now.
const enough = 5

func (l *Line) publishByHalves(ctx context.Context, o *observed, p *plan.Plan, patch plan.MuxPatch) (bool, error) {
	h := &halves{
		line: l, o: o, patch: patch, refused: map[types.NamespacedName]error{}, untried: map[types.NamespacedName]bool{},
		to: map[types.NamespacedName][]corev1.ServicePort{}, adds: map[types.NamespacedName][]plan.Slot{},
		slots: map[plan.Slot]types.NamespacedName{}, names: map[string]types.NamespacedName{},
	}
	h.sort(p)
	if err := h.try(ctx, h.ports); err != nil {
		return false, err // which isn't for anything that a channel adds
	}
	adding := slices.DeleteFunc(slices.Clone(patch.Added), func(channel types.NamespacedName) bool { return len(h.adds[channel]) == 0 })
	if err := h.add(ctx, adding); err != nil {
		return false, err
	}
	h.remember()
	return true, nil
}

// sort parts the channels that add ports from the rest. Until it is such a channel's turn it keeps what it has, so that it
// loses nothing if it is refused. A Service needs one port: if nothing else is left, it keeps those that it has.
func (h *halves) sort(p *plan.Plan) {
	owner := make(map[string]types.NamespacedName, len(p.InForce))
	for i := range p.InForce {
		owner[p.InForce[i].MuxName] = p.InForce[i].Owner.Channel
	}
	for _, port := range h.patch.Ports {
		if channel, ours := owner[port.Name]; ours && slices.Contains(h.patch.Added, channel) && !isOn(h.o.service, &port) {
			h.adds[channel] = append(h.adds[channel], slotOf(&port))
		}
	}
	for _, port := range h.patch.Ports {
		if channel, ours := owner[port.Name]; ours && len(h.adds[channel]) > 0 {
			h.to[channel] = append(h.to[channel], port)
			continue
		}
		h.ports = append(h.ports, port)
	}
	for _, claims := range [...][]plan.Claim{p.InForce, p.Leaving} {
		for i := range claims {
			h.slots[claims[i].Slot()], h.names[claims[i].MuxName] = claims[i].Owner.Channel, claims[i].Owner.Channel
		}
	}
	for _, port := range p.Unclaimed {
		h.names[port.Name] = port.Channel
	}
	for _, port := range h.o.service.Spec.Ports {
		if channel, ours := h.whose(&port); ours && len(h.adds[channel]) > 0 && !clashes(h.ports, &port) {
			h.ports = append(h.ports, port)
		}
	}
	if len(h.ports) == 0 {
		h.ports = slices.Clone(h.o.service.Spec.Ports)
	}
}

// whose port it is on the mux, though somebody gave it another name, or moved it.
func (h *halves) whose(port *corev1.ServicePort) (types.NamespacedName, bool) {
	if channel, ours := h.slots[slotOf(port)]; ours {
		return channel, true
	}
	channel, ours := h.names[port.Name]
	return channel, ours
}

func clashes(ports []corev1.ServicePort, with *corev1.ServicePort) bool {
	return slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return p.Name == with.Name || slotOf(&p) == slotOf(with) })
}

// with are the ports that are accepted so far, and those of more channels in place of what they have.
func (h *halves) with(channels []types.NamespacedName) []corev1.ServicePort {
	ports := slices.DeleteFunc(slices.Clone(h.ports), func(port corev1.ServicePort) bool {
		channel, ours := h.whose(&port)
		return ours && slices.Contains(channels, channel)
	})
	for _, channel := range channels {
		ports = append(ports, h.to[channel]...)
	}
	return ports
}

func slotOf(port *corev1.ServicePort) plan.Slot {
	return plan.Slot{Number: port.Port, Protocol: port.Protocol}
}

func isOn(svc *corev1.Service, port *corev1.ServicePort) bool {
	return slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return slotOf(&p) == slotOf(port) })
}

func (h *halves) try(ctx context.Context, ports []corev1.ServicePort) error {
	part := h.patch
	part.Annotations = h.stamp()
	part.Ports, part.ResourceVersion = ports, h.o.service.ResourceVersion
	return h.line.patchMux(ctx, h.o, &part)
}

// stamp returns the annotations that name the ledger and its generation: what else is to be written hangs on who is refused.
func (h *halves) stamp() map[string]string {
	stamp, keys := map[string]string{}, h.line.Language.Keys()
	for _, key := range [...]string{keys.Generation, keys.Ledger} {
		if value, set := h.patch.Annotations[key]; set {
			stamp[key] = value
		}
	}
	return stamp
}

func (h *halves) add(ctx context.Context, channels []types.NamespacedName) error {
	if len(channels) == 0 {
		return nil
	}
	if h.inRow >= enough {
		for _, channel := range channels {
			h.refused[channel], h.untried[channel] = h.last, true
		}
		return nil
	}
	ports := h.with(channels)
	err := h.try(ctx, ports)
	switch {
	case err == nil:
		h.ports, h.inRow = ports, 0
		return nil
	case !isRefusal(err):
		return err
	case len(channels) == 1:
		h.last = err
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

// remember has the next plan leave them out. Who wasn't tried is the first to be, the next time: those who were wait longer each
// time. Where there are no node ports, that is so for all, and whoever was there first is served first.
func (h *halves) remember() {
	now := h.line.Now()
	for i := range h.o.world.Channels {
		c := &h.o.world.Channels[i]
		said, refused := h.refused[c.Key]
		if !refused {
			continue
		}
		back := h.o.memory.refused[c.Key].again(now)
		if h.untried[c.Key] && !isOutOfNodePorts(said) {
			back = setback{}.again(now)
		}
		h.o.memory.refused[c.Key] = refusal{setback: back, words: words(said), asked: asks(c), slots: h.adds[c.Key]}
	}
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
