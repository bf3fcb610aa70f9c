package plan

import (
	"slices"

	"nowake.ai/svc-lb-mux/validation"
)

// edit is the difference between what a channel has and what it asks for.
type edit struct {
	*pass
	channel *member
	left    []*Claim // whose ports are gone from the channel
	wanted  []wanted // what it has no claim for, or another one
	kept    bool     // what left stays for now
}

// wanted is a port that needs a number.
type wanted struct {
	port *validation.ChannelPort
	has  *Claim // what it has now, if anything
	done bool   // it has got one
}

func (w *wanted) id(c *member) PortID { return PortID{c.Key, w.port.Name, w.port.Protocol} }

// fixed is the number asked for; 0 if any will do.
func (w *wanted) fixed() int32 {
	if w.port.Request.Kind == validation.Auto {
		return 0
	}
	return w.port.Request.Number
}

func (p *pass) compare(c *member) edit {
	e := edit{pass: p, channel: c}
	owned := c.claims
	var few [manyPorts]bool
	matched := few[:]
	if len(owned) > manyPorts {
		matched = make([]bool, len(owned))
	}
	find := finder(owned)
	for i := range c.Ports {
		port := &c.Ports[i]
		at := find.at(PortID{c.Key, port.Name, port.Protocol})
		switch {
		case at < 0:
			e.wanted = append(e.wanted, wanted{port: port})
		case matched[at]: // a name twice, which is told as a problem
		default:
			matched[at] = true
			if !p.satisfies(owned[at], port) {
				e.wanted = append(e.wanted, wanted{port: port, has: owned[at]})
			}
		}
	}
	for i, claim := range owned {
		if claim.State == Held && !matched[i] {
			e.left = append(e.left, claim)
		}
	}
	return e
}

// claimFinder finds an owner's claim in force.
type claimFinder struct {
	few  []*Claim
	many map[PortID]int
}

func finder(claims []*Claim) claimFinder {
	if len(claims) <= manyPorts {
		return claimFinder{few: claims}
	}
	index := make(map[PortID]int, len(claims))
	for i, claim := range claims {
		if claim.State == Held {
			index[claim.Owner] = i
		}
	}
	return claimFinder{many: index}
}

// at is where the claim is; negative if there is none.
func (f claimFinder) at(id PortID) int {
	if f.many == nil {
		return slices.IndexFunc(f.few, func(c *Claim) bool { return c.State == Held && c.Owner == id })
	}
	if i, found := f.many[id]; found {
		return i
	}
	return -1
}

// satisfies is true if a claim is what the port asks for, and brings it up to date with the port. An auto port keeps
// its number though the range has moved since.
func (p *pass) satisfies(claim *Claim, port *validation.ChannelPort) bool {
	switch port.Request.Kind {
	case validation.Auto:
		if claim.Source != Auto && !p.w.Mux.Auto.Contains(claim.Public) {
			return false
		}
		claim.Source = Auto
	case validation.Own, validation.Number:
		if port.Request.Number != claim.Public {
			return false
		}
		claim.Source = Static
	case validation.Unread: // refused elsewhere; until then it keeps what it has
		return true
	}
	claim.Port = port.Port
	return true
}

// followRenames lets a number follow a port that was renamed: first those that are asked for, at once, then those that
// were picked, if there is no doubt which port is meant. The port keeps its name on the mux, so that no packet notices.
func (e *edit) followRenames() {
	e.keepNumbers()
	for _, auto := range [...]bool{false, true} {
		var still []wanted
		for _, w := range e.wanted {
			if len(e.left) == 0 || w.has != nil || w.port.Name == "" || (w.fixed() == 0) != auto || !e.follow(&w) {
				still = append(still, w)
			}
		}
		e.wanted = still
	}
	e.renumber()
}

// keepNumbers is for ports that have no name any more, which is no name to have: their numbers are kept under the ones they had.
func (e *edit) keepNumbers() {
	for i := range e.wanted {
		if w := &e.wanted[i]; w.port.Name == "" && w.has == nil {
			e.left = slices.DeleteFunc(e.left, func(claim *Claim) bool {
				return claim.Owner.Protocol == w.port.Protocol && claim.Port == w.port.Port
			})
		}
	}
}

// renumber is for ports that were renamed and ask for something else at once: they have the old number until they get that,
// or for good if any will do and it is one that could be picked.
func (e *edit) renumber() {
	var still []wanted
	for _, w := range e.wanted {
		if w.has == nil && w.port.Name != "" {
			w.has = e.takeOver(&w)
		}
		if w.has == nil || !e.satisfies(w.has, w.port) {
			still = append(still, w)
		}
	}
	e.wanted = still
}

// takeOver gives a port the claim of one that went, if that had the same number in the channel; nil if there is none.
func (e *edit) takeOver(w *wanted) *Claim {
	at := slices.IndexFunc(e.left, func(claim *Claim) bool {
		return claim.Owner.Protocol == w.port.Protocol && claim.Port == w.port.Port
	})
	if at < 0 {
		return nil
	}
	claim := e.left[at]
	claim.Owner = w.id(e.channel)
	e.left = slices.Delete(e.left, at, at+1)
	return claim
}

// follow is true if a port was renamed, and has its number again.
func (e *edit) follow(w *wanted) bool {
	claim := e.predecessor(w)
	if claim == nil {
		return false
	}
	e.left = slices.DeleteFunc(e.left, func(c *Claim) bool { return c == claim })
	claim.Owner = w.id(e.channel)
	return e.satisfies(claim, w.port)
}

// predecessor is the claim of a port that went, and that can only have been this one. Two ports of a channel never
// have protocol and number in common, so only what went can be ambiguous.
func (e *edit) predecessor(w *wanted) *Claim {
	var found *Claim
	for _, claim := range e.left {
		if claim.Owner.Protocol != w.port.Protocol {
			continue
		}
		if number := w.fixed(); number != 0 {
			if claim.Public == number {
				return claim
			}
			continue
		}
		if claim.Source == Auto && claim.Port == w.port.Port {
			if found != nil {
				return nil
			}
			found = claim
		}
	}
	return found
}

// grant gives an incumbent what it asks for now, all of it or nothing.
func (e *edit) grant() *refusal {
	g := &grant{pass: e.pass, channel: e.channel, wanted: e.wanted, ours: map[*Claim]bool{}}
	for i := range g.wanted {
		if has := g.wanted[i].has; has != nil {
			g.ours[has] = true // it moves away
		} else {
			g.adding++
		}
	}
	no := g.all()
	if no != nil {
		g.undo()
		return no
	}
	g.commit()
	return nil
}
