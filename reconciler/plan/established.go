package plan

import (
	"math"
	"slices"

	"nowake.ai/svc-lb-mux/validation"
)

// established is what the ledger was taken for, before this pass changed anything.
type established struct {
	// ledger is as it was read; where it was lost, there is nothing in it.
	ledger Ledger
	// mend says why it must be written anew though no claim changes.
	mend string
	// renew is true if it was rebuilt: then it is a new generation, one past the mux's stamp.
	renew bool
	// broken says why it can't be gone by, or not yet be rebuilt.
	broken string
	// guessed is true if nothing may be written, and nothing better is known: there may be claims that we can't see.
	guessed bool
}

// ledger finds out who owns what.
//
//	good                    as it says
//	the original's          the same, then whoever has a port on the mux that it doesn't tell of
//	lost, or emptied        rebuilt from the mux, our slices, and the channels' own notes
//	edited by somebody      the same, then what else it says, as far as the mux doesn't say otherwise
//	lost while it must stay as it is, or anything else
//	                        frozen: the claims that were last in force here, else what can be told from the mux
func (p *pass) ledger() established {
	read := &p.w.Ledger
	p.live = readPorts(p.w.Mux.Ports)
	before := established{ledger: read.Ledger.sorted(), broken: p.broken()}
	frozen := before.broken != "" || p.lost() && (len(p.w.Mux.Problems) > 0 || p.w.Mux.Disabled)
	switch {
	case frozen && p.w.LastGood != nil:
		p.adopt(p.w.LastGood.Claims)
	case frozen:
		before.guessed = true
		p.adopt(p.explainPorts(nil, nil).claims)
	case read.Condition == Good && len(before.ledger.Claims) > 0:
		p.adopt(p.taken(before.ledger.Claims))
	case read.Condition == Good && !p.lost():
		// We wrote that there is nothing, or there is nothing.
	default: // missing, edited, or emptied
		p.adopt(p.rebuild(before.ledger.Claims))
		if before.renew = len(p.claims) > 0 || p.w.Mux.Generation > 0 || before.ledger.Generation > 0; before.renew {
			before.mend = textRebuilt(read)
		}
	}
	switch {
	case before.mend != "":
	case read.Moved:
		before.mend = textMoved(read.Name, p.w.Mux.Ledger)
	case read.Unlabelled:
		before.mend = textRelabelled(read.Name)
	}
	p.name()
	p.recognize(&before)
	p.keepProvider(&before)
	p.rebuilt = before.renew
	if before.broken == "" {
		p.unrefuse()
	}
	return before
}

// lost is true if the ledger says nothing, though the mux has ports that are channels', or a stamp.
func (p *pass) lost() bool {
	read := &p.w.Ledger
	if read.Condition > Missing || len(read.Ledger.Claims) > 0 || read.Condition == Good && read.Ledger.Generation > 0 {
		return false
	}
	return read.Condition != Good && p.w.Mux.Generation > 0 || len(p.explainPorts(nil, nil).claims) > 0
}

// broken says what is wrong with a ledger that freezes, or that is lost and must not be rebuilt yet: a process that led before may still
// have a write under way. It is empty if the ledger can be gone by, or rebuilt.
func (p *pass) broken() string {
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
	if p.w.Now.Before(p.w.RebuildFrom) && p.lost() {
		p.lookAgain(p.w.RebuildFrom)
		return textRebuildsLater(read.Name, p.w.RebuildFrom)
	}
	return ""
}

// taken is what a ledger says. One of the original's first versions tells of auto ports only: whoever has another port
// on the mux has it still.
func (p *pass) taken(claims []Claim) []Claim {
	if p.w.Ledger.Ledger.Generation > 0 {
		return claims
	}
	return p.explainPorts(nil, claims).claims
}

// tellRebuilt says that the ledger was put right, unless there never was one.
func (p *pass) tellRebuilt(before *established) {
	lost := before.renew && (p.w.Ledger.Condition != Missing || p.w.Mux.Generation > 0)
	if lost || p.w.Ledger.Unlabelled {
		p.plan.Told = append(p.plan.Told, Event{
			Object: p.w.Key, Reason: MuxDriftCorrected, Message: textPutRight([]string{before.mend}),
		})
	}
}

// next returns the generation after those of ledger and mux.
func (p *pass) next(before *established) int64 {
	latest := max(before.ledger.Generation, p.w.Mux.Generation)
	if latest == math.MaxInt64 {
		return latest // somebody wrote that by hand; there is no later one
	}
	return latest + 1
}

// name gives a port name to claims that the original wrote, which knows no other than the one derived.
func (p *pass) name() {
	if !slices.ContainsFunc(p.claims, func(c *Claim) bool { return c.MuxName == "" }) {
		return
	}
	taken := map[string]bool{}
	for _, claim := range p.claims {
		if claim.MuxName != "" {
			taken[claim.MuxName] = true
		}
	}
	for _, claim := range p.claims {
		if claim.MuxName != "" {
			continue
		}
		claim.MuxName = legacyName(claim.Owner)
		if taken[claim.MuxName] || p.another(claim) {
			claim.MuxName = freeName(claim.Owner, func(name string) bool {
				return taken[name] || p.live.named(name) != nil
			})
		}
		taken[claim.MuxName] = true
	}
}

// wasThere is true for a claim whose channel says so: that is written after its port came to the mux.
func (p *pass) wasThere(claim *Claim) bool {
	c := p.byKey[claim.Owner.Channel]
	if c == nil {
		return false
	}
	return slices.ContainsFunc(c.Recorded, func(m validation.PortMapping) bool {
		return m.Public == claim.Public && !slices.ContainsFunc(c.claims, func(other *Claim) bool {
			return other != claim && other.State != InGrace && other.Owner.Name == m.Name && other.Public == m.Public
		}) // else it says so of that one
	})
}

// another is true if the port of the mux that has the claim's name belongs to another claim of the same derived name.
func (p *pass) another(claim *Claim) bool {
	port := p.live.named(claim.MuxName)
	return port != nil && slotOf(port) != claim.Slot() && slices.ContainsFunc(p.claims, func(other *Claim) bool {
		return other != claim && other.Slot() == slotOf(port) && legacyName(other.Owner) == port.Name
	})
}

// unrefuse takes back what the API server refused: claims that never got onto the mux are let go, as any are, and what their
// channels had before, which is still there, holds again. Another process may be about to get those ports onto the mux all the same:
// so it is stamped before they are forgotten, and what got there meanwhile holds, too. Any other port that isn't on the mux was taken
// off it by somebody, and comes back, if not now, then later: its number stays its channel's.
func (p *pass) unrefuse() {
	var gone []*Claim
	var moved []Claim
	for key, slots := range p.w.Unpublished {
		never := map[*Claim]bool{}
		for _, claim := range p.claimsOf(key) {
			switch refused := slices.Contains(slots, claim.Slot()); {
			case !refused || claim.State == InGrace || claim.State == Held && p.live.has(claim):
			case p.live.has(claim):
				claim.State = Held
			case claim.State == Releasing:
				if !p.wasThere(claim) {
					p.takenBack[claim] = true
				}
			case p.wasThere(claim):
				p.leftOff[claim] = true
			default:
				never[claim] = true
			}
		}
		if len(never) > 0 {
			back, from := p.takeBack(p.claimsOf(key), never)
			gone, moved = append(gone, back...), append(moved, from...)
		}
	}
	p.forget(gone...)
	slices.SortFunc(moved, compareClaims) // the map has no order
	for i := range moved {
		p.takenBack[&moved[i]] = true
		p.add(&moved[i])
	}
}

// takeBack has a channel's claims be as they were before an edit of which something was refused: it is all or nothing, and what
// one port was to leave may have been promised to another one. It returns those that are other ones' numbers again, and claims to
// numbers that were to be moved to, to be let go.
func (p *pass) takeBack(claims []*Claim, never map[*Claim]bool) (gone []*Claim, moved []Claim) {
	mine := make(map[Slot]bool, len(claims))
	for _, claim := range claims {
		mine[claim.Slot()] = true
	}
	from, back := map[*Claim]int32{}, map[Slot]bool{}
	for _, claim := range claims {
		there := p.live.named(claim.MuxName)
		if claim.State == Held && !p.live.has(claim) && there != nil && slotOf(there).Protocol == claim.Owner.Protocol && mine[slotOf(there)] {
			from[claim], back[slotOf(there)] = there.Port, true
		}
	}
	for _, claim := range claims {
		number, moves := from[claim]
		switch {
		case moves:
			if !back[claim.Slot()] {
				to := *claim
				to.State = Releasing
				moved = append(moved, to)
			}
			claim.Public = number
		case back[claim.Slot()]:
			gone = append(gone, claim)
		case never[claim]:
			claim.State = Releasing
			p.takenBack[claim] = true
		case claim.State == Releasing && p.live.has(claim):
			claim.State = Held
		}
	}
	return gone, moved
}
