package plan

import "slices"

// mostRounds bounds how often newcomers are gone over. Without a bound, thousands of channels that wait for a number would take rounds
// without end when none is left.
const mostRounds = 4

// admission gives numbers to newcomers.
type admission struct{ *keeping }

// admit gives newcomers all that they ask for, or nothing. In a round each newcomer, the oldest first, reserves its place under the caps and
// the numbers that it asks for. Then numbers are picked for those that let us pick. A newcomer for which none is left may have kept others
// from their place, so the next round goes without it.
func admit(incumbents *keeping) {
	a := &admission{incumbents}
	var asking []*channel
	for _, c := range a.channels {
		if c.isHeld() || c.refusal != nil {
			continue
		}
		if no := a.shutsOutNewcomer(c); no != nil {
			c.refuse(no)
			continue
		}
		asking = append(asking, c)
	}
	asking = byAge(asking)
	left := asking
	for round := 1; ; round++ {
		grants, failed := a.round(left)
		if len(failed) == 0 || round == mostRounds {
			for _, g := range grants {
				a.admitted(g)
			}
			break
		}
		for _, g := range grants {
			g.undo()
		}
		left = slices.DeleteFunc(slices.Clone(left), func(c *channel) bool { return failed[c] })
	}
	a.askAgain(asking)
}

func (a *admission) admitted(g *grant) {
	g.commit()
	a.accept(g.channel)
	g.channel.attached = true
}

// askAgain decides once more about the refused requests. The rounds may have left a number for them; if not, they are
// told what stands in their way now that all numbers are given.
func (a *admission) askAgain(asked []*channel) {
	for _, e := range a.refused {
		a.judgeIncumbent(e.channel, e)
	}
	for _, c := range asked {
		if c.accepted {
			continue
		}
		g := a.newGrant(c)
		no := g.reserveAsked()
		if no == nil {
			no = g.pickRest()
		}
		if no == nil {
			a.admitted(g)
			continue
		}
		g.undo()
		c.refuse(no)
	}
}

func (a *admission) newGrant(c *channel) *grant {
	g := &grant{pass: a.pass, channel: c, wanted: make([]wanted, 0, len(c.Ports))}
	for i := range c.Ports {
		g.wanted = append(g.wanted, wanted{port: &c.Ports[i]})
		g.adding += g.wanted[i].asks().size()
	}
	return g
}

// shutsOutNewcomer is decided before any number is looked at.
func (a *admission) shutsOutNewcomer(c *channel) *refusal {
	if no := a.shutsOut(c); no != nil {
		return no
	}
	if no := a.restrict(c); no != nil && !c.Disabled { // before other problems, as for incumbents
		return no
	}
	switch forbidden, unread := a.allowed.forbidden(c); {
	case len(c.Problems) > 0:
		return problemsOf(c.Problems)
	case c.Disabled:
		return &refusal{reason: Disabled, message: textDisabled(a.w.Keys.Disabled, false)}
	case a.m.Refused[c.Key].Words != "":
		return &refusal{reason: MuxPatchRefused, message: textRefused(a.m.Refused[c.Key].Words)}
	case unread:
		return &refusal{reason: HostnameNotAllowed, message: textTooManyDirect(c.Direct[0].Key, a.allowed.most)}
	case len(forbidden) > 0:
		// External-dns reads that annotation itself, and publishes the name once the channel has an address. The annotation isn't ours to
		// change, so the channel gets no address.
		return &refusal{reason: HostnameNotAllowed, message: textDirect(forbidden[0].Key, forbidden[0].Name, a.w.Mux)}
	}
	return a.postpone(c)
}

// round reserves what can be had. Channels for which no number could be picked are returned as failed; all others that get nothing are refused.
func (a *admission) round(asking []*channel) (grants []*grant, failed map[*channel]bool) {
	for _, c := range asking {
		g := a.newGrant(c)
		if no := g.reserveAsked(); no != nil {
			g.undo()
			c.refuse(no)
			continue
		}
		grants = append(grants, g)
	}
	failed = map[*channel]bool{}
	grants = slices.DeleteFunc(grants, func(g *grant) bool {
		no := g.pickRest()
		if no == nil {
			return false
		}
		g.undo()
		g.channel.refuse(no)
		failed[g.channel] = true
		return true
	})
	return grants, failed
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
	no := g.reserveAsked()
	if no == nil {
		no = g.pickRest()
	}
	if no != nil {
		g.undo()
		return no
	}
	g.commit()
	return nil
}
