package plan

import "nowake.ai/svc-lb-mux/validation"

// admission gives numbers to newcomers.
type admission struct{ *pass }

// admit gives newcomers all that they ask for, or nothing, the oldest first. It returns those that are refused because
// of numbers, limits or protocols. An auto port gets no number that a newcomer asks for in this pass.
func admit(p *pass) (refused []*channel) {
	a := &admission{p}
	var asking []*channel
	for _, c := range a.channels {
		if c.hasNumbers() || c.refusal != nil {
			continue
		}
		if no := a.shutsOutNewcomer(c); no != nil {
			c.refuse(no)
			continue
		}
		a.wish(c)
		asking = append(asking, c)
	}
	for _, c := range byAge(asking) {
		if a.judgeNewcomer(c); !c.accepted {
			refused = append(refused, c)
		}
	}
	return refused
}

// retryRefused decides about refused requests once more, after all others. Now auto may pick any number that no
// newcomer got, and an incumbent may have moved off a requested number. A refusal that stays names the channel that has
// the number in the end.
func retryRefused(p *pass, edits []*edit, newcomers []*channel) {
	p.wished = numberSets()
	for _, e := range edits {
		(&keeping{p}).judgeIncumbent(e.channel, e)
	}
	for _, c := range newcomers {
		(&admission{p}).judgeNewcomer(c)
	}
}

// wish enters the numbers that a newcomer asks for.
func (a *admission) wish(c *channel) {
	for i := range c.Ports {
		port := &c.Ports[i]
		asks := NewSpan(port.Request.Number, port.Request.Last, port.Protocol)
		if port.Request.Kind != validation.Auto && isPort(asks.slot()) && asks.Last <= validation.MaxPort {
			a.wished[asks.Protocol].addRun(asks.run())
		}
	}
}

func (a *admission) judgeNewcomer(c *channel) {
	g := &grant{pass: a.pass, channel: c, wanted: make([]wanted, 0, len(c.Ports))}
	for i := range c.Ports {
		g.wanted = append(g.wanted, wanted{port: &c.Ports[i]})
		g.adding += g.wanted[i].asks().size()
	}
	if no := g.give(); no != nil {
		c.refuse(no)
		return
	}
	a.accept(c)
	c.showsAddress = true
}

// shutsOutNewcomer refuses a newcomer for a reason other than numbers; nil if no such reason exists. It runs before any
// number is looked at.
func (a *admission) shutsOutNewcomer(c *channel) *refusal {
	if no := a.shutsOut(c); no != nil {
		return no
	}
	if no := a.restrict(c); no != nil && !c.Disabled { // before other problems, as for incumbents
		return no
	}
	switch {
	case len(c.Problems) > 0:
		return problemsOf(c.Problems)
	case c.Disabled:
		return &refusal{reason: Disabled, message: textDisabled(c, a.w.Keys.Disabled, false)}
	case a.m.Refused[c.Key].Words != "":
		return &refusal{reason: MuxPatchRefused, message: textRefused(a.w.Key, a.m.Refused[c.Key].Words)}
	}
	switch forbidden, unread := a.allowed.forbidden(c); {
	case unread:
		return &refusal{reason: HostnameNotAllowed, message: textTooManyDirect(c.Direct[0].Key, a.allowed.most)}
	case len(forbidden) > 0:
		// External-dns reads that annotation itself, and publishes the name once the channel has an address. The reconciler
		// may not change the annotation, so the channel gets no address.
		return &refusal{reason: HostnameNotAllowed, message: textDirect(forbidden[0].Key, forbidden[0].Name, a.w.Mux)}
	}
	return a.postpone(c)
}
