package plan

import (
	"slices"
	"time"
)

// keeping decides about channels that hold numbers.
type keeping struct{ *pass }

// keep decides about channels that hold numbers: incumbents, which come before newcomers. First, all of them release
// the numbers that they don't ask for any more. Then those that ask for another number get it, the oldest first. keep
// returns the edits that are refused because of numbers: these may be free at the end of the pass.
func keep(p *pass) (refused []*edit) {
	k := &keeping{p}
	k.releaseGone()
	k.endGraces()
	edits, matched := map[*channel]*edit{}, map[*Claim]bool{}
	var asking []*channel
	for _, c := range k.channels {
		if !c.hasNumbers() {
			continue
		}
		if no := k.shutsOut(c); no != nil {
			c.refuse(no)
			k.release(c.claims...)
			continue
		}
		k.yieldToForeign(c)
		e := k.compare(c, matched)
		k.release(e.unmatched...)
		if len(e.wanted) > 0 {
			asking, edits[c] = append(asking, c), e
			continue
		}
		k.judgeIncumbent(c, nil)
	}
	for _, c := range byAge(asking) {
		k.judgeIncumbent(c, edits[c])
		if c.refusal != nil && c.refusal.isAboutPorts() {
			refused = append(refused, edits[c])
		}
	}
	return refused
}

// releaseGone releases the claims of channels that are gone. A channel that isn't in the cache keeps its claims until a
// live read says that it is gone.
func (k *keeping) releaseGone() {
	for key, claims := range k.absent {
		if k.m.Stuck[key] && slices.ContainsFunc(claims, k.onMux.has) {
			k.lookAgain(k.now.Add(time.Second)) // the channel may be gone, and then no event says when Stuck ends
		}
		if !slices.ContainsFunc(claims, (*Claim).held) {
			continue
		}
		switch k.w.Live[key] {
		case Gone:
			k.release(claims...)
		case Unasked:
			k.plan.Confirm = append(k.plan.Confirm, key)
		case Present:
		}
	}
}

// shutsOut says why a channel may have no ports; nil if it may.
func (p *pass) shutsOut(c *channel) *refusal {
	switch {
	case c.Deleting:
		return &refusal{reason: NotAccepted, message: textDeleting()}
	case !c.Admitted && !p.allowed.namespace(c.Key.Namespace):
		return &refusal{reason: NamespaceNotAllowed, message: textNamespace(p.w.Mux, c.Key.Namespace)}
	}
	return nil
}

// yieldToForeign releases claims whose numbers the mux's owner uses now, if the claims aren't on the mux.
func (k *keeping) yieldToForeign(c *channel) {
	for _, claim := range c.claims {
		if k.hasForeign(claim.Span()) && !k.onMux.has(claim) && !k.belongsOnMux(claim) {
			k.release(claim)
		}
	}
}

// judgeIncumbent grants or refuses the edit of a channel that holds numbers. A channel without an edit is refused if it
// is disabled, has problems or source ranges, or lacks a port on the mux that the API server refuses or that must wait.
func (k *keeping) judgeIncumbent(c *channel, e *edit) {
	no := k.refuseIncumbent(c, e)
	if no == nil {
		k.accept(c)
	} else {
		c.refuse(no)
	}
	c.showsAddress = c.hasNumbers() && slices.ContainsFunc(c.claims, k.belongsOnMux)
	if c.Disabled && (c.hasNumbers() || len(c.Problems) == 0) {
		off := &refusal{reason: Disabled, message: textDisabled(c, k.w.Keys.Disabled, c.hasNumbers())}
		if no != nil && c.hasNumbers() { // a disabled channel may ask for another number, which may be free in the next pass
			off.slot, off.usedUp, off.until = no.slot, no.usedUp, no.until
		}
		c.refuse(off)
	}
	if c.withdrawn {
		c.showsAddress, c.remarks = false, nil
	}
}

func (k *keeping) refuseIncumbent(c *channel, e *edit) *refusal {
	said := k.m.Refused[c.Key]
	switch no := k.restrict(c); {
	case no != nil: // before other problems: isOriginals recognizes the channel by this reason
		return no
	case len(c.Problems) > 0:
		return problemsOf(c.Problems)
	case e == nil && k.lacks(c) != nil:
		return &refusal{reason: MuxPatchRefused, message: textLeftOff(k.lacks(c), k.w.Key, said.Words)}
	case e != nil && said.Words != "":
		return &refusal{reason: MuxPatchRefused, message: textRefused(k.w.Key, said.Words)}
	case !c.withdrawn && slices.ContainsFunc(c.claims, k.isMissing) && k.isReturning(c):
		if no := k.postpone(c); no != nil {
			c.postponed = true
			return no
		}
		k.changed[c.Key.Namespace] = true
	}
	if e == nil {
		return nil
	}
	if no := k.postpone(c); no != nil {
		return no
	}
	return k.grantEdit(e)
}

// grantEdit grants the whole edit of an incumbent, or nothing.
func (k *keeping) grantEdit(e *edit) *refusal {
	g := &grant{pass: k.pass, channel: e.channel, wanted: e.wanted}
	for i := range g.wanted {
		g.adding += g.wanted[i].asks().size()
		if has := g.wanted[i].has; has != nil {
			g.moving = append(g.moving, has)
			g.adding -= has.Span().size()
		}
	}
	return g.give()
}
