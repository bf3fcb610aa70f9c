package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// rebuild derives the claims if the ledger is lost or was edited. known are the claims of the edited ledger, or of the
// last good ledger that this process remembers. rebuild starts from the ports on the mux. Their owners follow from the
// known claims, from their names, from the slices that we wrote under those names, or from channels' ports annotations,
// if the channels may ask for the numbers. Then it adds the known claims that no port on the mux contradicts. Last,
// with annotations and without known claims, it adds numbers that only ports annotations have: the mux may have been
// created again.
func rebuild(p *pass, known []Claim, annotations bool) []Claim {
	r := newRebuilding(p)
	for _, claim := range known {
		if claim.held() {
			r.known[nameOf(&claim)] = claim
		}
	}
	r.explain()
	for _, claim := range known {
		if !r.unexplained[claim.Slot()] {
			r.take(claim)
		}
	}
	if annotations && len(known) == 0 {
		r.takeAnnotations()
	}
	slices.SortFunc(r.found, compareClaims)
	return r.found
}

// explainPorts returns the known claims, and claims for ports on the mux that none of them has.
func explainPorts(p *pass, known []Claim) []Claim {
	r := newRebuilding(p)
	for _, claim := range known {
		r.take(claim)
	}
	r.explain()
	return r.found
}

type rebuilding struct {
	*pass
	known   map[string]Claim    // known held claims, by their name on the mux
	derived map[string][]portOf // channels' ports, by both derived names
	// channels' ports, by the name that they get where the derived one is taken
	second map[string][]portOf
	// channels' ports, by the first number in their ports annotation, if they may ask for it
	annotated      map[Slot][]portOf
	annotatedNames map[string]types.NamespacedName // channels, by the derived names of the ports in their ports annotation

	found       []Claim
	size        int // how many numbers the claims have
	slots       slots[bool]
	owners      map[PortID]bool
	foundNames  map[string]bool
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
		pass: p, known: map[string]Claim{}, derived: map[string][]portOf{}, second: map[string][]portOf{},
		annotated: map[Slot][]portOf{}, annotatedNames: map[string]types.NamespacedName{},
		owners: map[PortID]bool{}, foundNames: map[string]bool{}, unexplained: map[Slot]bool{},
		byNamespace: map[string]int{},
	}
	for _, c := range byAge(p.channels) {
		for _, port := range r.portsOf(c.Key) {
			r.derived[derivedName(port.id())] = append(r.derived[derivedName(port.id())], port)
			r.derived[legacyName(port.id())] = append(r.derived[legacyName(port.id())], port)
			second := freeName(port.id(), func(name string) bool { return name == derivedName(port.id()) })
			r.second[second] = append(r.second[second], port)
			if numbers, may := r.annotation(port); may {
				first := numbers.slot()
				r.annotated[first] = append(r.annotated[first], port)
			}
		}
		for _, recorded := range c.Recorded {
			r.annotatedNames[derivedName(PortID{Channel: c.Key, Name: recorded.Name})] = c.Key
		}
	}
	return r
}

// nameOf returns a claim's name on the mux. For a claim of the original, which has no MuxName, that is the original's
// derived name.
func nameOf(claim *Claim) string {
	if claim.MuxName == "" {
		return legacyName(claim.Owner)
	}
	return claim.MuxName
}

// take adds a claim unless one of its numbers is taken. For a held claim, its owner and its name must be free, too.
func (r *rebuilding) take(claim Claim) {
	if r.isTaken(claim.Span()) || claim.held() &&
		(r.owners[claim.Owner] || claim.MuxName != "" && r.foundNames[claim.MuxName]) {
		return
	}
	for slot := range claim.Span().slots() {
		r.slots.set(slot, true)
	}
	if claim.held() {
		r.owners[claim.Owner], r.foundNames[claim.MuxName] = true, true
	}
	r.found = append(r.found, claim)
	r.size += claim.Span().size()
	r.byNamespace[claim.Owner.Channel.Namespace] += claim.Span().size()
}

func (r *rebuilding) isTaken(numbers Span) bool {
	for slot := range numbers.slots() {
		if r.slots.at(slot) {
			return true
		}
	}
	return false
}

// explain claims the ports on the mux. A port goes to the owner that the known claims have for its name, if they have
// one. For other ports, explain looks for the owner in four ways, in this order: by the second derived name, by the
// first, by our slices, by ports annotations. The second name is what a port gets if the first is taken. Example: port
// http is renamed to web, and keeps its name on the mux, which is the first name of http. A new port http then gets the
// second name of http. So if the second name is on the mux, the first name is web's.
func (r *rebuilding) explain() {
	second := func(port muxPort) []portOf { return r.second[port.name] }
	for _, candidates := range [...]func(muxPort) []portOf{second, r.named, r.recorded, r.annotatedAt} {
		for _, port := range r.muxPorts() {
			if r.isTaken(port.numbers) {
				continue
			}
			if claim, is := r.known[port.name]; is && claim.Owner.Protocol == port.numbers.Protocol {
				claim.Public, claim.Last = port.numbers.First, port.numbers.end()
				r.take(claim)
				continue
			}
			fit := r.fit(candidates(port), port)
			if r.unexplained[port.slot()] = fit == nil; fit != nil {
				r.take(r.claim(*fit, port.numbers, port.name))
			}
		}
	}
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

func (r *rebuilding) claim(of portOf, numbers Span, name string) Claim {
	source := Static
	if of.port.Request.Kind == validation.Auto {
		source = Auto
	}
	return Claim{Owner: of.id(), Port: of.port.Port, Public: numbers.First, Last: numbers.end(), Source: source,
		MuxName: name}
}
