package plan

import (
	"slices"

	"nowake.ai/svc-lb-mux/validation"
)

// muxPort is a port or a range of the mux.
type muxPort struct {
	name    string
	numbers Span
}

func (m muxPort) slot() Slot { return m.numbers.slot() }

// muxPorts returns the ranges and the ports of the mux, without the placeholder. Ranges come first, because a port with
// a number in a range comes from another writer.
func (r *rebuilding) muxPorts() []muxPort {
	var all []muxPort
	for _, run := range r.w.Mux.Ranges {
		all = append(all, muxPort{run.Name, SpanOf(run)})
	}
	for i := range r.w.Mux.Ports {
		if port := &r.w.Mux.Ports[i]; !isPlaceholder(port) {
			all = append(all, muxPort{port.Name, SlotOf(port).Span()})
		}
	}
	return all
}

// fit returns the channel port, of several, that a port on the mux can be: the only one whose annotation has the
// number, or else the only one at all. It returns nil if no port fits, or if several do.
func (r *rebuilding) fit(of []portOf, port muxPort) *portOf {
	slot := port.slot()
	var fit, annotated, told []portOf
	for _, o := range of {
		if o.port.Protocol != slot.Protocol || r.owners[o.id()] {
			continue
		}
		fit = append(fit, o)
		if slices.Contains(r.annotated[slot], o) {
			annotated = append(annotated, o)
		}
		// Our slices prove that the port is the channel's. Then the annotation tells which of the channel's ports it is, even
		// if the range was changed since.
		if r.w.Records[port.name] == o.channel.Key && o.says(slot.Number) {
			told = append(told, o)
		}
	}
	for _, one := range [...][]portOf{annotated, told, fit} {
		if len(one) == 1 {
			return &one[0]
		}
	}
	return nil
}

// says is true if the channel's ports annotation has this number for the port.
func (o portOf) says(number int32) bool {
	return slices.ContainsFunc(o.channel.Recorded, func(m validation.PortMapping) bool {
		return m.Name == o.port.Name && m.Public == number
	})
}

// named returns the channel ports whose derived name is the name of this port on the mux. There may be several, because
// a tenant can make two short names equal. If one of our slices records a channel for the name, only that channel's
// ports count: a tenant can't forge our slices.
func (r *rebuilding) named(port muxPort) []portOf {
	of := r.derived[port.name]
	if channel, recorded := r.w.Records[port.name]; recorded {
		of = slices.DeleteFunc(slices.Clone(of), func(o portOf) bool { return o.channel.Key != channel })
	}
	return of
}

// recorded returns the ports of the channel that our slices carry under the port's name: one of them was renamed.
func (r *rebuilding) recorded(port muxPort) []portOf {
	if channel, recorded := r.w.Records[port.name]; recorded {
		return r.portsOf(channel)
	}
	return nil
}

// annotatedAt returns the ports whose channel has the number in its ports annotation. It returns none if one of our
// slices or a derived name identifies the port, or if the port's name isn't of our form. It returns none either while
// the Gateway's listeners aren't known, because the port may be a listener's.
func (r *rebuilding) annotatedAt(port muxPort) []portOf {
	_, recorded := r.w.Records[port.name]
	named := slices.ContainsFunc(r.derived[port.name], func(o portOf) bool { return !r.owners[o.id()] })
	if recorded || named || !LooksOurs(port.name) || r.w.ListenersUnknown {
		return nil
	}
	of := r.annotated[port.slot()]
	if channel, annotatedNames := r.annotatedNames[port.name]; annotatedNames {
		of = slices.DeleteFunc(slices.Clone(of), func(o portOf) bool { return o.channel.Key != channel })
	}
	return of
}
