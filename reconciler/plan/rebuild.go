package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// rebuild finds out who owns what where the ledger doesn't say: by the names of the mux's ports, by the channel that
// our slices carry under such a name, and last by what channels say they have, as far as they may ask for it. Then
// come the claims of a ledger that was edited, if any, unless the mux says otherwise.
func (p *pass) rebuild(edited []Claim) []Claim {
	r := p.explainPorts(edited, nil)
	for _, claim := range edited {
		if r.unexplained[claim.Slot()] {
			continue // somebody else's port is there
		}
		r.take(claim)
	}
	if len(edited) == 0 {
		r.takeNotes()
	}
	slices.SortFunc(r.claims, compareClaims)
	return r.claims
}

// explainPorts claims the ports that are on the mux, and that aren't among the claims known.
func (p *pass) explainPorts(edited, known []Claim) *rebuilding {
	r := &rebuilding{
		pass: p, edited: map[string]Claim{}, derived: map[string][]portOf{}, former: map[string]types.NamespacedName{}, told: map[types.NamespacedName]*told{}, notes: map[Slot][]portOf{},
		slots: map[Slot]bool{}, owners: map[PortID]bool{}, names: map[string]bool{}, unexplained: map[Slot]bool{},
		byNamespace: map[string]int{},
	}
	for _, claim := range known {
		r.take(claim)
	}
	r.index(edited)
	for _, explain := range [...]func(*corev1.ServicePort) (Claim, bool){r.byName, r.byRecord, r.byNote} {
		for i := range p.w.Mux.Ports {
			port := &p.w.Mux.Ports[i]
			if isPlaceholder(port) || r.slots[slotOf(port)] {
				continue
			}
			claim, found := explain(port)
			if r.unexplained[slotOf(port)] = !found; found {
				r.take(claim)
			}
		}
	}
	return r
}

type rebuilding struct {
	*pass
	edited  map[string]Claim                // claims in force, by the name on the mux
	derived map[string][]portOf             // channels' ports, by both derived names
	former  map[string]types.NamespacedName // channels, by the names of all ports that they say they have had
	told    map[types.NamespacedName]*told  // what channels say, of those that say anything
	notes   map[Slot][]portOf               // channels' ports, by what their channels say they have, and may
	claims  []Claim

	slots       map[Slot]bool
	owners      map[PortID]bool
	names       map[string]bool
	unexplained map[Slot]bool
	byNamespace map[string]int // claims
}

// portOf is a port of a channel.
type portOf struct {
	channel *member
	port    *validation.ChannelPort
}

func (o portOf) id() PortID { return PortID{o.channel.Key, o.port.Name, o.port.Protocol} }

func (r *rebuilding) index(edited []Claim) {
	for _, claim := range edited {
		if claim.State == Held {
			r.edited[nameOf(&claim)] = claim
		}
	}
	for _, c := range byAge(r.sorted) {
		for _, port := range r.portsOf(c.Key) {
			for _, name := range [...]string{derivedName(port.id()), legacyName(port.id())} {
				r.derived[name] = append(r.derived[name], port)
			}
		}
		if len(c.Recorded) == 0 {
			continue
		}
		for _, recorded := range c.Recorded {
			had := PortID{Channel: c.Key, Name: recorded.Name}
			r.former[derivedName(had)] = c.Key // an older name can be met on purpose
		}
		r.told[c.Key] = r.tell(c)
		for slot, ports := range r.told[c.Key].at {
			r.notes[slot] = append(r.notes[slot], ports...)
		}
	}
}

// nameOf is a claim's name on the mux; the original's claims have none but the derived one.
func nameOf(claim *Claim) string {
	if claim.MuxName == "" {
		return legacyName(claim.Owner)
	}
	return claim.MuxName
}

// take adds a claim unless its number, its owner or its name is claimed already.
func (r *rebuilding) take(claim Claim) {
	held := claim.State == Held
	if r.slots[claim.Slot()] || held && (r.owners[claim.Owner] || claim.MuxName != "" && r.names[claim.MuxName]) {
		return
	}
	r.slots[claim.Slot()] = true
	if held {
		r.owners[claim.Owner], r.names[claim.MuxName] = true, true
	}
	r.claims = append(r.claims, claim)
	r.byNamespace[claim.Owner.Channel.Namespace]++
}

// byName says whose a live port is by its name. Of several channels that it fits, it is the one that says so.
func (r *rebuilding) byName(port *corev1.ServicePort) (Claim, bool) {
	if claim, found := r.edited[port.Name]; found && claim.Owner.Protocol == slotOf(port).Protocol {
		claim.Public = port.Port
		return claim, true
	}
	return r.tellApart(r.named(port.Name), port)
}

// byRecord says whose a live port is by what our slices carry under its name, where that is no name of the channel's own
// ports: somebody renamed one of them, or names were made to collide. All ports that have their own name come first.
func (r *rebuilding) byRecord(port *corev1.ServicePort) (Claim, bool) {
	return r.tellApart(r.candidates(port.Name), port)
}

func (r *rebuilding) tellApart(ports []portOf, port *corev1.ServicePort) (Claim, bool) {
	fit := r.fit(ports, port)
	if len(fit) == 1 {
		fit[0] = r.renamed(fit[0], port)
	}
	if len(fit) > 1 {
		fit = r.said(fit, port)
	}
	return r.onlyOne(fit, port)
}

// said are those of which their channels say that they are a live port. What our slices carry under its name is a channel's beyond
// doubt: then it only says which of its ports that is, though none could ask for the number today.
func (r *rebuilding) said(of []portOf, live *corev1.ServicePort) []portOf {
	noted := only(of, func(o portOf) bool { return slices.Contains(r.notes[slotOf(live)], o) })
	if len(noted) > 0 {
		return noted
	}
	return only(of, func(o portOf) bool {
		return r.w.Records[live.Name] == o.channel.Key && slices.ContainsFunc(o.channel.Recorded, func(m validation.PortMapping) bool {
			return m.Name == o.port.Name && m.Public == live.Port
		})
	})
}

// renamed is another port of the channel than the one that a name on the mux is derived from, if the channel says so of them both:
// that one was renamed, and kept the name on the mux, and the other one came later, under the name that was free in the spec.
func (r *rebuilding) renamed(named portOf, live *corev1.ServicePort) portOf {
	told := r.told[named.channel.Key]
	if told == nil {
		return named
	}
	was := named
	for _, o := range told.at[Slot{live.Port, named.port.Protocol}] {
		if !r.owners[o.id()] {
			was = o
		}
	}
	if elsewhere := told.of[named.port]; elsewhere == 0 || elsewhere == live.Port || r.live.bySlot.at(Slot{elsewhere, named.port.Protocol}) == nil {
		return named
	}
	return was
}

// byNote says whose a live port is by what a channel says, where no name tells. A name tells even if the channel that it is
// of has changed that port's protocol since, or dropped it.
func (r *rebuilding) byNote(port *corev1.ServicePort) (Claim, bool) {
	_, recorded := r.w.Records[port.Name]
	if recorded || !looksOurs(port.Name) || len(r.candidates(port.Name)) > 0 {
		return Claim{}, false
	}
	fit := r.fit(r.notes[slotOf(port)], port)
	if of, told := r.former[port.Name]; told {
		fit = only(fit, func(o portOf) bool { return o.channel.Key == of })
	}
	return r.onlyOne(fit, port)
}

// fit are those that have the port's protocol, and no claim yet.
func (r *rebuilding) fit(ports []portOf, port *corev1.ServicePort) []portOf {
	return only(ports, func(o portOf) bool { return o.port.Protocol == slotOf(port).Protocol && !r.owners[o.id()] })
}

func (r *rebuilding) onlyOne(of []portOf, port *corev1.ServicePort) (Claim, bool) {
	if len(of) != 1 {
		return Claim{}, false
	}
	return r.claim(of[0], port.Port, port.Name), true
}

// named are the ports that have a name on the mux as their own. Names can be made to collide; what our slices carry under
// one can't.
func (r *rebuilding) named(name string) []portOf {
	recorded, found := r.w.Records[name]
	if !found {
		return r.derived[name]
	}
	return only(r.derived[name], func(o portOf) bool { return o.channel.Key == recorded })
}

// candidates are the ports that a name on the mux may stand for.
func (r *rebuilding) candidates(name string) []portOf {
	if own := r.named(name); len(own) > 0 {
		return own
	}
	if recorded, found := r.w.Records[name]; found {
		return r.portsOf(recorded)
	}
	return nil
}

func only(ports []portOf, is func(portOf) bool) []portOf {
	return slices.DeleteFunc(slices.Clone(ports), func(o portOf) bool { return !is(o) })
}

func (r *rebuilding) portsOf(channel types.NamespacedName) []portOf {
	var ports []portOf
	if c := r.byKey[channel]; c != nil {
		for i := range c.Ports {
			if c.Ports[i].Name != "" { // which is refused, and can't be written
				ports = append(ports, portOf{c, &c.Ports[i]})
			}
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
