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

// muxPorts returns the ranges and the ports of the mux, without the placeholder. Ranges come first: a port within one was put there by others.
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

// fit returns the one of several ports that a port on the mux can be: the only one, or the only one with an annotation that says so; nil if there is
// none, or more than one.
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
		// Our slices prove that the port is the channel's. Then the annotation tells which one it is, whatever the range is today.
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

// says is true if the channel's ports annotation has a number for the port.
func (o portOf) says(number int32) bool {
	return slices.ContainsFunc(o.channel.Recorded, func(m validation.PortMapping) bool { return m.Name == o.port.Name && m.Public == number })
}

// named are the ports whose derived name a port on the mux has. A short name can be made to collide. The channel that our slices carry under it
// can't be faked.
func (r *rebuilding) named(port muxPort) []portOf {
	of := r.derived[port.name]
	if channel, recorded := r.w.Records[port.name]; recorded {
		of = slices.DeleteFunc(slices.Clone(of), func(o portOf) bool { return o.channel.Key != channel })
	}
	return of
}

// recorded are the ports of the channel that our slices carry under the port's name: one of them was renamed.
func (r *rebuilding) recorded(port muxPort) []portOf {
	if channel, recorded := r.w.Records[port.name]; recorded {
		return r.portsOf(channel)
	}
	return nil
}

// annotatedAt are the ports whose channel has the number in its ports annotation. There are none if one of our slices or a derived name
// identifies the port, or while the Gateway's listeners aren't known: the port may be one of theirs.
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
