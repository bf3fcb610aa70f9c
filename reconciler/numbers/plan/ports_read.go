package plan

import (
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// readPorts sorts the ports on the mux: the placeholder, those that a claim has, ours without a claim, which must go,
// and foreign ones. A claim has the port on its number, even if another writer changed the port's name. A port under a
// claim's name on another number must go. Foreign ports stay, and no channel gets their numbers. The mux's owner may
// add a port within a channel's range, since spec.ports doesn't have ranges: then the range stays, too.
func readPorts(p *pass) {
	r := &reader{pass: p}
	for i := range r.onMux.ports {
		port := &r.onMux.ports[i]
		slot := SlotOf(port)
		holder := r.holders.at(slot)
		switch {
		case isPlaceholder(port):
			if r.w.Mux.keepsPlaceholder() && (holder == nil || !r.belongsOnMux(holder)) {
				r.occupy(port)
			}
		case holder != nil && r.belongsOnMux(holder) && !holder.IsRange():
		case r.names[port.Name] != nil, // a claim's port on another number than the claim's
			r.isUnclaimed(port, holder):
			r.block(slot)
		default:
			r.occupy(port)
			if _, ours := r.ofChannel(port); LooksOurs(port.Name) && !ours && !r.w.ListenersUnknown {
				r.warn(UnexplainedPort, textUnexplained(port))
			}
		}
	}
}

// occupy enters a foreign port.
func (r *reader) occupy(port *corev1.ServicePort) {
	r.onMux.foreign = append(r.onMux.foreign, port)
	r.reserve(port)
}

// keepsPlaceholder is true if the placeholder is a foreign port: the mux's applier declares it, or its owner wants it
// kept. Otherwise we added it, and it goes once channels have ports.
func (m *ObservedMux) keepsPlaceholder() bool {
	switch m.Placeholder {
	case validation.PlaceholderKeep:
		return true
	case validation.PlaceholderRemove:
		return false
	case validation.PlaceholderUsual:
	}
	return m.DeclaresPlaceholder
}

// ofChannel returns the channel's port that a port on the mux is named for.
func (r *reader) ofChannel(port *corev1.ServicePort) (portOf, bool) {
	if len(port.Name) != nameDigits || !LooksOurs(port.Name) {
		return portOf{}, false
	}
	if r.onMux.derived == nil {
		r.onMux.derived = map[string]portOf{}
		for _, c := range r.channels {
			for i := range c.Ports {
				of := portOf{c, &c.Ports[i]}
				r.onMux.derived[derivedName(of.id())] = of
			}
		}
	}
	of, ours := r.onMux.derived[port.Name]
	return of, ours
}

// isUnclaimed is true for a port of ours that no claim has. It comes off the mux, unless the address of its channel
// couldn't be taken off first. There are two causes. Another writer put back a port that we had taken off: its name is
// that of a channel's port. Or a process renamed a claim and ended before it renamed the port, and the channel was
// disabled since: then the claim has the port's number, and another name.
func (r *reader) isUnclaimed(port *corev1.ServicePort, holder *Claim) bool {
	if of, named := r.ofChannel(port); named {
		return !r.m.Stuck[of.channel.Key]
	}
	return holder != nil && LooksOurs(port.Name) && !r.m.Stuck[holder.Owner.Channel]
}
