package plan

import "slices"

// grant collects what one channel is about to get.
type grant struct {
	*pass
	channel *channel
	wanted  []wanted
	adding  int      // how many numbers more than the channel has now
	moving  []*Claim // claims of the channel that leave their numbers
	got     []given
}

// given is what a port gets.
type given struct {
	want    *wanted
	numbers Span
	source  Source
}

// give gives the channel all that it wants, or nothing.
func (g *grant) give() *refusal {
	for _, step := range [...]func() *refusal{g.checkProtocols, g.checkCaps, g.takeAsked, g.pickRest} {
		if no := step(); no != nil {
			for _, it := range g.got {
				for slot := range it.numbers.slots() {
					g.free(slot)
				}
			}
			return no
		}
	}
	g.commit()
	return nil
}

// takeAsked takes the numbers that the ports ask for.
func (g *grant) takeAsked() *refusal {
	for i := range g.wanted {
		w := &g.wanted[i]
		if w.number() == 0 {
			continue
		}
		if no := g.check(w); no != nil {
			return no
		}
		g.take(w, w.asks(), Static)
	}
	return nil
}

func (g *grant) take(w *wanted, numbers Span, source Source) {
	for slot := range numbers.slots() {
		g.taken[slot.Protocol].add(slot.Number)
	}
	g.got = append(g.got, given{w, numbers, source})
}

// commit makes claims of what the channel gets. A claim that moves releases its numbers, except those that another port
// of the channel gets now.
func (g *grant) commit() {
	g.changed[g.channel.Key.Namespace] = true
	g.release(g.moving...)
	kept := map[string]bool{} // names on the mux that ports of this channel keep
	for _, it := range g.got {
		if it.want.has != nil {
			kept[it.want.has.MuxName] = true
		}
	}
	for _, it := range g.got {
		claim := &Claim{
			Owner: it.want.id(g.channel), Port: it.want.port.Port, Public: it.numbers.First, Last: it.numbers.end(),
			Source: it.source,
			Since:  g.now, State: Held,
		}
		for slot := range it.numbers.slots() {
			old := g.holders.at(slot)
			if old == nil {
				continue
			}
			// the channel gave the number up before, and gets it back
			if old.Span() == it.numbers && !slices.Contains(g.moving, old) {
				claim.Since, claim.MuxName = old.Since, old.MuxName
			}
			g.forget(old)
			g.releaseRest(old, it.numbers)
		}
		if it.want.has != nil {
			claim.Since, claim.MuxName = g.now, it.want.has.MuxName // a port that moves keeps its name on the mux
		} else if other := g.names[claim.MuxName]; claim.MuxName == "" || kept[claim.MuxName] ||
			other != nil && other.held() {
			claim.MuxName = g.newName(claim.Owner)
		}
		g.add(claim)
		g.names[claim.MuxName] = claim
	}
}

// releaseRest releases the numbers of a former claim that aren't among the taken ones, which another claim of the
// channel has now.
func (b *book) releaseRest(old *Claim, taken Span) {
	for _, part := range old.Span().without(taken) {
		rest := *old
		rest.Public, rest.Last = part.First, part.end()
		b.add(&rest)
		b.release(&rest)
	}
}
