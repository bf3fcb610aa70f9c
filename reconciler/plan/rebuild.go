package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// rebuild finds out who owns what without a ledger. A port on the mux tells most: by its name, by the channel that our slices carry
// under that name, and by the ports annotation of channels, as far as they may ask for the number. Then come the claims of an
// edited ledger that the mux doesn't contradict, and last, with notes, ports annotations about numbers that aren't on the mux: it
// may have been created again.
func (p *pass) rebuild(edited []Claim, notes bool) []Claim {
	r := newRebuilding(p)
	for _, claim := range edited {
		if claim.held() {
			r.edited[nameOf(&claim)] = claim
		}
	}
	r.explain()
	for _, claim := range edited {
		if !r.unexplained[claim.Slot()] {
			r.take(claim)
		}
	}
	if notes && len(edited) == 0 {
		r.takeNotes()
	}
	slices.SortFunc(r.claims, compareClaims)
	return r.claims
}

// explainPorts adds to claims those of ports on the mux that aren't among them.
func (p *pass) explainPorts(known []Claim) []Claim {
	r := newRebuilding(p)
	for _, claim := range known {
		r.take(claim)
	}
	r.explain()
	return r.claims
}

type rebuilding struct {
	*pass
	edited  map[string]Claim                // claims in force, by their name on the mux
	derived map[string][]portOf             // channels' ports, by both derived names
	second  map[string][]portOf             // channels' ports, by the name that they get where the derived one is taken
	noted   map[Slot][]portOf               // channels' ports, by the number in their ports annotation, if they may ask for it
	dropped map[string]types.NamespacedName // channels, by the derived names of the ports in their ports annotation

	claims      []Claim
	slots       map[Slot]bool
	owners      map[PortID]bool
	names       map[string]bool
	unexplained map[Slot]bool // of ports on the mux
	byNamespace map[string]int
}

// portOf is a port of a channel.
type portOf struct {
	channel *channel
	port    *validation.ChannelPort
}

func (o portOf) id() PortID { return PortID{o.channel.Key, o.port.Name, o.port.Protocol} }

func newRebuilding(p *pass) *rebuilding {
	r := &rebuilding{
		pass: p, edited: map[string]Claim{}, derived: map[string][]portOf{}, second: map[string][]portOf{}, noted: map[Slot][]portOf{}, dropped: map[string]types.NamespacedName{},
		slots: map[Slot]bool{}, owners: map[PortID]bool{}, names: map[string]bool{}, unexplained: map[Slot]bool{},
		byNamespace: map[string]int{},
	}
	for _, c := range byAge(p.channels) {
		for _, port := range r.portsOf(c.Key) {
			r.derived[derivedName(port.id())] = append(r.derived[derivedName(port.id())], port)
			r.derived[legacyName(port.id())] = append(r.derived[legacyName(port.id())], port)
			second := freeName(port.id(), func(name string) bool { return name == derivedName(port.id()) })
			r.second[second] = append(r.second[second], port)
			if slot, may := r.note(port); may {
				r.noted[slot] = append(r.noted[slot], port)
			}
		}
		for _, recorded := range c.Recorded {
			r.dropped[derivedName(PortID{Channel: c.Key, Name: recorded.Name})] = c.Key
		}
	}
	return r
}

// note is the number that the channel's ports annotation has for a port. Its owner can write that annotation, so the note counts
// only if the port could ask for the number today.
func (r *rebuilding) note(o portOf) (Slot, bool) {
	for _, recorded := range o.channel.Recorded {
		if recorded.Name == o.port.Name && r.mayAsk(o.port, recorded.Public) {
			return Slot{recorded.Public, o.port.Protocol}, true
		}
	}
	return Slot{}, false
}

// mayAsk is true if a port asks for a number, or for any and the number is in range.
func (p *pass) mayAsk(port *validation.ChannelPort, number int32) bool {
	switch port.Request.Kind {
	case validation.Own, validation.Number:
		return port.Request.Number == number
	case validation.Auto:
		return p.w.Mux.Auto.Contains(number)
	case validation.Unread:
	}
	return false
}

// nameOf is a claim's name on the mux. The original's claims have none but the derived one.
func nameOf(claim *Claim) string {
	if claim.MuxName == "" {
		return legacyName(claim.Owner)
	}
	return claim.MuxName
}

// take adds a claim unless its number, its owner or its name is claimed already.
func (r *rebuilding) take(claim Claim) {
	if r.slots[claim.Slot()] || claim.held() && (r.owners[claim.Owner] || claim.MuxName != "" && r.names[claim.MuxName]) {
		return
	}
	r.slots[claim.Slot()] = true
	if claim.held() {
		r.owners[claim.Owner], r.names[claim.MuxName] = true, true
	}
	r.claims = append(r.claims, claim)
	r.byNamespace[claim.Owner.Channel.Namespace]++
}

// explain claims the ports on the mux: first those whose name tells, then those that our slices tell, then those of notes. A port that has
// its second name isn't the one that has its first: that one was renamed.
func (r *rebuilding) explain() {
	second := func(live *corev1.ServicePort) []portOf { return r.second[live.Name] }
	for _, candidates := range [...]func(*corev1.ServicePort) []portOf{second, r.named, r.recorded, r.notedAt} {
		for i := range r.w.Mux.Ports {
			port := &r.w.Mux.Ports[i]
			slot := slotOf(port)
			if isPlaceholder(port) || r.slots[slot] {
				continue
			}
			if claim, edited := r.edited[port.Name]; edited && claim.Owner.Protocol == slot.Protocol {
				claim.Public = port.Port
				r.take(claim)
				continue
			}
			fit := r.fit(candidates(port), port)
			if r.unexplained[slot] = fit == nil; fit != nil {
				r.take(r.claim(*fit, port.Port, port.Name))
			}
		}
	}
}

// fit is the one of several ports that a port on the mux is; nil if there is no such port, or more than one.
func (r *rebuilding) fit(of []portOf, live *corev1.ServicePort) *portOf {
	slot := slotOf(live)
	var fit, noted, told []portOf
	for _, o := range of {
		if o.port.Protocol != slot.Protocol || r.owners[o.id()] {
			continue
		}
		fit = append(fit, o)
		if slices.Contains(r.noted[slot], o) {
			noted = append(noted, o)
		}
		// Our slices prove that the port is the channel's. Then its note counts for which one it is, whatever the range is today.
		if r.w.Records[live.Name] == o.channel.Key && o.says(live.Port) {
			told = append(told, o)
		}
	}
	for _, one := range [...][]portOf{noted, told, fit} {
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
func (r *rebuilding) named(live *corev1.ServicePort) []portOf {
	of := r.derived[live.Name]
	if channel, recorded := r.w.Records[live.Name]; recorded {
		of = slices.DeleteFunc(slices.Clone(of), func(o portOf) bool { return o.channel.Key != channel })
	}
	return of
}

// recorded are the ports of the channel that our slices carry under the port's name: one of them was renamed.
func (r *rebuilding) recorded(live *corev1.ServicePort) []portOf {
	if channel, recorded := r.w.Records[live.Name]; recorded {
		return r.portsOf(channel)
	}
	return nil
}

// notedAt are the ports whose channel says that they have the number, where no name tells.
func (r *rebuilding) notedAt(live *corev1.ServicePort) []portOf {
	_, recorded := r.w.Records[live.Name]
	named := slices.ContainsFunc(r.derived[live.Name], func(o portOf) bool { return !r.owners[o.id()] })
	if recorded || named || !LooksOurs(live.Name) {
		return nil
	}
	of := r.noted[slotOf(live)]
	if channel, dropped := r.dropped[live.Name]; dropped {
		of = slices.DeleteFunc(slices.Clone(of), func(o portOf) bool { return o.channel.Key != channel })
	}
	return of
}

// takeNotes believes channels about ports that aren't on the mux. They get no more than by asking, and all or nothing.
func (r *rebuilding) takeNotes() {
	for _, c := range byAge(r.channels()) {
		if len(c.Problems) > 0 || c.Deleting || !r.allowed.namespace(c.Key.Namespace) {
			continue
		}
		var noted []Claim
		known := false
		for _, port := range r.portsOf(c.Key) {
			slot, told := r.note(port)
			switch explicit := port.port.Request.Kind == validation.Auto || r.w.Mux.Explicit.Contains(slot.Number); {
			case r.owners[port.id()]:
				known = true
			case told && explicit && !r.slots[slot] && !r.unexplained[slot]:
				noted = append(noted, r.claim(port, slot.Number, freeName(port.id(), func(name string) bool {
					return r.names[name] || r.live.named(name) != nil
				})))
			}
		}
		if !known && len(noted) < len(c.Ports) || !r.hasRoom(c, len(noted)) {
			continue
		}
		for _, claim := range noted {
			r.take(claim)
		}
	}
}

func (r *rebuilding) channels() []*channel { return r.pass.channels }

// hasRoom is true if the mux's limits leave room for that many ports more of the channel.
func (r *rebuilding) hasRoom(c *channel, more int) bool {
	mux := r.w.Mux
	quota := mux.CapPerNamespace
	if len(r.claims)+more > mux.Cap.Ports || quota > 0 && r.byNamespace[c.Key.Namespace]+more > quota {
		return false
	}
	for i := range c.Ports {
		protocol := c.Ports[i].Protocol
		if !mux.Protocols.Allowed.Has(protocol) || mux.Protocols.OneOnly && len(r.claims) > 0 && r.claims[0].Owner.Protocol != protocol {
			return false
		}
	}
	return true
}

func (r *rebuilding) portsOf(key types.NamespacedName) []portOf {
	c := r.byKey[key]
	if c == nil {
		return nil
	}
	ports := make([]portOf, 0, len(c.Ports))
	for i := range c.Ports {
		if c.Ports[i].Name != "" { // a port without a name is refused, and can't be written
			ports = append(ports, portOf{c, &c.Ports[i]})
		}
	}
	return ports
}

func (r *rebuilding) claim(of portOf, number int32, name string) Claim {
	source := Static
	if of.port.Request.Kind == validation.Auto {
		source = Auto
	}
	return Claim{Owner: of.id(), Port: of.port.Port, Public: number, Source: source, MuxName: name}
}
