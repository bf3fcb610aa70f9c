package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// mostRounds bounds how often newcomers are gone over. Without it, thousands that wait for a number, of which there is none,
// would take the last places under the caps a few at a time, and nothing else would be decided for as long.
const mostRounds = 8

// newcomers gives channels that have nothing all that they ask for, or nothing. First every channel, in its turn, gets
// its place under the caps and the numbers that it asks for; then those that let us pick get theirs. One that fails
// then leaves what it got: if that was why another was refused, all is done again without it, mostRounds times at most. Who was
// refused on the way is asked once more at the end.
func (p *pass) newcomers() {
	var asking []*member
	for _, c := range p.sorted {
		if !p.inForce(c) && c.reason == "" {
			asking = append(asking, c)
		}
	}
	var waiting []*grant
	for _, c := range byAge(asking) {
		if g := p.admit(c); g != nil {
			waiting = append(waiting, g)
		}
	}
	left := waiting
	for rounds := 1; ; rounds++ {
		failed := p.round(left, rounds == mostRounds)
		if len(failed) == 0 {
			break
		}
		left = slices.DeleteFunc(slices.Clone(left), func(g *grant) bool { return failed[g.channel.Key] })
	}
	p.lastWord(waiting)
}

// lastWord asks once more for all who were refused: there may be more left than there was in their turn, or less, and
// what they are told must be true when all is done. Whoever still gets something may change it for others.
func (p *pass) lastWord(waiting []*grant) {
	for again := true; again; {
		again = false
		for _, e := range p.refused {
			again = p.askAgain(e) || again
		}
		for _, g := range waiting {
			if !g.channel.accepted {
				p.settle(g, g.all())
				again = again || g.channel.accepted
			}
		}
	}
}

// askAgain is true if that changed anything. Who keeps something in the hope of a number that is just being let go
// hopes in vain if its old owner has come back for it.
func (p *pass) askAgain(e *edit) bool {
	if e.channel.refusal == nil || e.kept && p.passes(e.channel.refusal, e.channel.Key) {
		return false
	}
	if e.kept {
		e.kept = false
		p.releaseAll(e.left)
	}
	p.reconsider(e)
	return e.channel.refusal == nil
}

// admit is what is decided before any number is looked at.
func (p *pass) admit(c *member) *grant {
	j := &c.judgement
	switch {
	case c.Deleting:
		j.reason, j.message = NotAccepted, textDeleting()
	case !p.allowed.namespace(c.Key.Namespace):
		j.reason, j.message = NamespaceNotAllowed, textNamespace(p.w.Mux, c.Key.Namespace)
	case len(c.Problems) > 0:
		j.reason, j.message = problems(c.Problems)
	case c.Disabled:
		j.reason, j.message = Disabled, textDisabled(p.w.Keys.Disabled, false)
	case p.w.Refused[c.Key] != "":
		j.reason, j.message = MuxPatchRefused, textRefused(p.w.Refused[c.Key])
	case p.refusesDirect(c):
	case p.postpone(c):
	default:
		g := &grant{pass: p, channel: c, adding: len(c.Ports)}
		for i := range c.Ports {
			g.wanted = append(g.wanted, wanted{port: &c.Ports[i]})
		}
		return g
	}
	return nil
}

// round grants what can be granted. If it returns channels, all was taken back, and they aren't to be tried again. The last one
// returns none.
func (p *pass) round(waiting []*grant, last bool) map[types.NamespacedName]bool {
	var refused []*refusal
	var picking []*grant
	for _, g := range waiting {
		if no := g.fixed(); no != nil {
			p.settle(g, no)
			refused = append(refused, no)
			continue
		}
		picking = append(picking, g)
	}
	failed := map[types.NamespacedName]bool{}
	var granted []*grant
	for _, g := range picking {
		if no := g.picked(); no != nil {
			p.settle(g, no)
			failed[g.channel.Key] = true
			continue
		}
		granted = append(granted, g)
	}
	harmed := func(no *refusal) bool { return no.full || failed[no.holder] }
	if len(failed) > 0 && !last && slices.ContainsFunc(refused, harmed) {
		for _, g := range granted {
			g.undo()
		}
		return failed
	}
	for _, g := range granted {
		p.settle(g, nil)
	}
	return nil
}

// settle makes a grant final, or takes it back.
func (p *pass) settle(g *grant, no *refusal) {
	if no != nil {
		g.undo()
		p.refuse(g.channel, no)
		return
	}
	g.commit()
	p.changes(g.channel)
	p.accept(g.channel)
	g.channel.attached = true
}
