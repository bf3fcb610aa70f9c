package plan

import (
	"math"
	"slices"
)

// before is what the ledger said when the pass began.
type before struct {
	ledger Ledger // empty if it was lost
	// mend says why the ledger must be written though no claim changes.
	mend string
	// renew is true if the claims were rebuilt: the ledger gets a new generation.
	renew bool
	// broken says why the ledger can't be used.
	broken string
	// guessed is true if the ledger is broken and no good one is known: there may be claims that the pass doesn't know.
	guessed bool
}

// readClaims finds out which channel owns which number.
//
//	good              as the ledger says
//	the original's    the same, and ports on the mux that it doesn't have
//	lost or emptied   rebuilt from the mux, our slices, and the channels' ports annotations; on a paused mux, and for a while
//	                  after this process became the leader, frozen instead
//	edited            the same, and what else it says, as far as the mux doesn't contradict
//	anything else     frozen: the last good ledger, else what the mux shows
func (p *pass) readClaims() {
	read := &p.w.Ledger
	p.live = indexPorts(p.w.Mux.Ports)
	p.before = before{ledger: read.Ledger.sorted(), broken: p.brokenLedger()}
	was := &p.before
	lost := p.isLost()
	frozen := was.broken != "" || lost && (len(p.w.Mux.Problems) > 0 || p.w.Mux.Disabled)
	switch {
	case frozen && p.m.LastGood != nil:
		p.adopt(p.m.LastGood.Claims)
	case frozen:
		was.guessed = true
		p.adopt(p.rebuild(nil, false))
	case read.Condition == Good && was.ledger.Generation > 0:
		p.adopt(was.ledger.Claims)
	case read.Condition == Good && !lost: // the original's, or a mux that has nothing yet
		p.adopt(p.explainPorts(was.ledger.Claims))
	default:
		p.adopt(p.rebuild(was.ledger.Claims, true))
		if was.renew = len(p.claims) > 0 || p.w.Mux.Generation > 0 || was.ledger.Generation > 0; was.renew {
			was.mend = textRebuilt(read)
		}
	}
	switch {
	case was.mend != "":
	case read.Moved:
		was.mend = textMoved(read.Name, p.w.Mux.Ledger)
	case read.Unlabelled:
		was.mend = textRelabelled(read.Name)
	}
	p.nameClaims()
	p.recognize()
	p.keepProvider()
	if !frozen {
		p.takeBack()
	}
}

// isLost is true if the ledger says nothing, though the mux has ports that are channels', or a generation.
func (p *pass) isLost() bool {
	read := &p.w.Ledger
	if read.Condition > Missing || len(read.Ledger.Claims) > 0 || read.Condition == Good && read.Ledger.Generation > 0 {
		return false
	}
	return read.Condition != Good && p.w.Mux.Generation > 0 || len(p.rebuild(nil, false)) > 0
}

// brokenLedger says why a ledger freezes the mux; empty if it can be used, or rebuilt.
func (p *pass) brokenLedger() string {
	read, stamp := &p.w.Ledger, p.w.Mux.Generation
	switch read.Condition {
	case Unreadable, Foreign, Newer:
		return read.Why
	case Good, Edited:
		if read.Ledger.Generation < stamp {
			return textOutdated(read, stamp)
		}
	case Missing:
	}
	if p.w.Now.Before(p.w.RebuildFrom) && p.isLost() { // the process that led before may have a write under way
		p.lookAgain(p.w.RebuildFrom)
		return textRebuildsLater(read.Name, p.w.RebuildFrom)
	}
	return ""
}

// nextGeneration is one past the ledger's and the mux's.
func (p *pass) nextGeneration() int64 {
	latest := max(p.before.ledger.Generation, p.w.Mux.Generation)
	if latest == math.MaxInt64 {
		return latest // written by hand; there is no later one
	}
	return latest + 1
}

// nameClaims gives a port name to claims that the original wrote. The original derives the name from the channel's.
func (p *pass) nameClaims() {
	for _, claim := range p.claims {
		if claim.MuxName != "" {
			continue
		}
		name := legacyName(claim.Owner)
		if p.names[name] != nil || p.isAnothers(claim, name) {
			name = p.newName(claim.Owner)
		}
		claim.MuxName = name
		p.names[name] = claim
	}
	delete(p.names, "")
}

// isAnothers is true if the port of that name on the mux belongs to another claim whose derived name is the same.
func (p *pass) isAnothers(claim *Claim, name string) bool {
	port := p.live.named(name)
	if port == nil || slotOf(port) == claim.Slot() {
		return false
	}
	other := p.holders.at(slotOf(port))
	return other != nil && legacyName(other.Owner) == name
}

// newName returns a name that no port on the mux has.
func (p *pass) newName(id PortID) string {
	return freeName(id, func(name string) bool { return p.isNamed(name) || p.live.named(name) != nil })
}

// takeBack undoes edits that the API server refused. Each claim of such a channel goes back to the number that its port has on the
// mux. A claim that never was on the mux is released.
func (p *pass) takeBack() {
	for _, c := range p.channels {
		refused := p.m.Refused[c.Key].Slots
		if len(refused) == 0 {
			continue
		}
		for _, claim := range slices.Clone(c.claims) {
			if !claim.held() || p.live.has(claim) || p.wasShown(claim) || !slices.Contains(refused, claim.Slot()) {
				continue
			}
			there := p.live.named(claim.MuxName)
			if there != nil && slotOf(there).Protocol == claim.Owner.Protocol && p.isOwn(c, slotOf(there)) {
				p.goBack(claim, slotOf(there))
				continue
			}
			p.release(claim)
			p.neverPublished[claim.Slot()] = true
		}
	}
}

// isOwn is true if a channel has a claim to a number, or no channel has.
func (p *pass) isOwn(c *channel, slot Slot) bool {
	holder := p.holders.at(slot)
	return holder == nil || holder.Owner.Channel == c.Key
}

// goBack moves a claim back to a number. The number that it leaves is released: the ledger has it, so another process may publish it.
func (p *pass) goBack(claim *Claim, to Slot) {
	left := *claim
	if holder := p.holders.at(to); holder != nil {
		p.forget(holder)
	}
	p.forget(claim)
	claim.Public = to.Number
	p.add(claim)
	left.State = Releasing
	if p.holders.at(left.Slot()) == nil {
		p.add(&left)
		p.names[left.MuxName] = claim
		p.neverPublished[left.Slot()] = true
	}
}
