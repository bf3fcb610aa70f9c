package plan

import (
	"slices"

	"nowake.ai/svc-lb-mux/validation"
)

// edit is the difference between a channel's claims and its requests.
type edit struct {
	channel   *channel
	unmatched []*Claim // claims whose ports are gone from the channel
	wanted    []wanted // ports without a claim, or with one that isn't what they ask for
}

// wanted is a port that needs a number.
type wanted struct {
	port *validation.ChannelPort
	has  *Claim // the claim that the port has now; nil if none
}

func (w *wanted) id(c *channel) PortID { return PortID{c.Key, w.port.Name, w.port.Protocol} }

// number returns the number that the port asks for, or the first of a range; 0 for auto.
func (w *wanted) number() int32 {
	if w.port.Request.Kind == validation.Auto {
		return 0
	}
	return w.port.Request.Number
}

// asks returns the numbers that the port asks for. For auto it is the number 0 alone, because the port needs one
// number.
func (w *wanted) asks() Span { return NewSpan(w.number(), w.port.Request.Last, w.port.Protocol) }

// compare returns the requests of a channel that its claims don't meet, and the claims that it doesn't ask for any
// more. Claims of renamed ports get the new names. compare empties and fills matched, so that 10,000 channels can share
// one map.
func (k *keeping) compare(c *channel, matched map[*Claim]bool) *edit {
	e := &edit{channel: c}
	clear(matched)
	for i := range c.Ports {
		port := &c.Ports[i]
		claim := c.claimOf(port)
		switch {
		case claim == nil:
			e.wanted = append(e.wanted, wanted{port: port})
		case matched[claim]: // two ports have the same name, which is a problem of the channel
		default:
			matched[claim] = true
			if !k.meets(claim, port) || !k.update(claim, claim.following(port)) {
				e.wanted = append(e.wanted, wanted{port, claim})
			}
		}
	}
	for _, claim := range c.claims {
		if claim.held() && !matched[claim] {
			e.unmatched = append(e.unmatched, claim)
		}
	}
	if len(e.unmatched) > 0 {
		k.followRenames(e)
	}
	return e
}

// manyPorts is the largest number of claims that claimOf searches one by one.
const manyPorts = 8

// claimOf returns the held claim of a port; nil if the port has none.
func (c *channel) claimOf(port *validation.ChannelPort) *Claim {
	id := PortID{c.Key, port.Name, port.Protocol}
	if len(c.claims) <= manyPorts {
		for _, claim := range c.claims {
			if claim.held() && claim.Owner == id {
				return claim
			}
		}
		return nil
	}
	if claim := c.index[id]; claim != nil && claim.held() && claim.Owner == id {
		return claim
	}
	c.index = make(map[PortID]*Claim, len(c.claims))
	for _, claim := range c.claims {
		if claim.held() {
			c.index[claim.Owner] = claim
		}
	}
	return c.index[id]
}

// followRenames gives a renamed port its former claim. The port keeps its number and its name on the mux, so that
// connections go on. First, a port gets the claim that has the numbers that it asks for. Then, if it asks for auto, it
// gets the auto claim with its own number; then any claim with its own number. If two claims fit, it gets neither. A
// port that was renamed and asks for another number keeps the old number until it gets the new one.
func (k *keeping) followRenames(e *edit) {
	for _, sameAs := range [...]func(w *wanted, claim *Claim) bool{
		func(w *wanted, claim *Claim) bool { return w.number() != 0 && claim.Span() == w.asks() },
		func(w *wanted, claim *Claim) bool {
			return w.number() == 0 && claim.Source == Auto && claim.Port == w.port.Port
		},
		func(w *wanted, claim *Claim) bool { return claim.Port == w.port.Port },
	} {
		for i := range e.wanted {
			w := &e.wanted[i]
			same := func(claim *Claim) bool { return claim.Owner.Protocol == w.port.Protocol && sameAs(w, claim) }
			at := slices.IndexFunc(e.unmatched, same)
			if at < 0 || w.has != nil || slices.ContainsFunc(e.unmatched[at+1:], same) {
				continue
			}
			if w.port.Name != "" { // a port without a name is a mistake: the number stays where it was
				w.has = e.unmatched[at]
				renamed := *w.has
				renamed.Owner = w.id(e.channel)
				k.update(w.has, renamed)
			}
			e.unmatched = slices.Delete(e.unmatched, at, at+1)
		}
	}
	e.wanted = slices.DeleteFunc(e.wanted, func(w wanted) bool {
		return w.has != nil && w.has.Owner == w.id(e.channel) && k.meets(w.has, w.port) &&
			k.update(w.has, w.has.following(w.port))
	})
}
