package plan

import "time"

// given is a number that was granted.
type given struct {
	claim *Claim // new, or one of old that is revived
	to    *wanted
	old   Claim // what the revived one was
	fresh bool
}

// take makes a claim.
func (g *grant) take(w *wanted, number int32, source Source) {
	id := w.id(g.channel)
	claim := &Claim{Owner: id, Port: w.port.Port, Public: number, Source: source, Since: g.now, State: Held}
	if w.has != nil {
		claim.MuxName = w.has.MuxName // a port that moves keeps its name on the mux
	} else {
		claim.MuxName = g.newName(id)
	}
	g.table.hold(claim)
	g.carrying[id.Protocol]++
	w.done = true
	g.got = append(g.got, given{claim: claim, to: w, fresh: true})
}

// revive takes a claim of the channel's own over: one that was let go, or one that moves away.
func (g *grant) revive(w *wanted, claim *Claim, source Source) {
	if g.ours[claim] {
		g.take(w, claim.Public, source)
		return
	}
	g.got = append(g.got, given{claim: claim, to: w, old: *claim})
	g.count(claim, -1) // it may have kept its slot; its new one is counted already
	claim.Owner, claim.Port, claim.Source = w.id(g.channel), w.port.Port, source
	if other := g.namesake(claim); other != nil && other != w.has {
		claim.MuxName = g.newName(claim.Owner)
	}
	claim.State, claim.Until = Held, time.Time{}
	g.carrying[claim.Owner.Protocol]++
	w.done = true
}

// newName is a name for a port that nobody has on the mux.
func (g *grant) newName(id PortID) string {
	name := freeName(id, func(name string) bool { return g.table.named(name) || g.live.named(name) != nil })
	g.table.names[name] = nil
	return name
}

// undo takes everything back.
func (g *grant) undo() {
	for i := len(g.got) - 1; i >= 0; i-- {
		it := &g.got[i]
		it.to.done = false
		g.carrying[it.claim.Owner.Protocol]--
		if it.fresh {
			g.untake(it)
			continue
		}
		if it.claim.MuxName != it.old.MuxName {
			delete(g.table.names, it.claim.MuxName)
		}
		*it.claim = it.old
		g.count(it.claim, +1)
	}
	g.got = nil
	if g.seated {
		g.held -= g.adding
		g.countIn(g.channel.Key.Namespace, -g.adding)
		g.seated = false
	}
}

func (g *grant) untake(it *given) {
	g.table.drop(it.claim)
	if it.to.has == nil {
		delete(g.table.names, it.claim.MuxName)
	}
	for ours := range g.ours {
		if ours.Slot() == it.claim.Slot() {
			g.table.hold(ours)
		}
	}
}

// commit makes it so: what moved away is let go, unless its number went to another port of the same channel.
func (g *grant) commit() {
	for _, it := range g.got {
		g.table.names[it.claim.MuxName] = it.claim // no longer the one that moves away
		if it.fresh {
			g.add(it.claim)
		}
	}
	var taken []*Claim
	for i := range g.wanted {
		old := g.wanted[i].has
		if old == nil {
			continue
		}
		g.carrying[old.Owner.Protocol]--
		if g.table.holders.at(old.Slot()) != old {
			taken = append(taken, old) // its number is another port's of this channel now
			continue
		}
		old.State = Releasing // its slot is the new claim's
		g.count(old, +1)      // unless its channel is stuck
	}
	g.forget(taken...)
}
