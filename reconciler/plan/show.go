package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// showAll decides what each channel is to look like. Addresses come off before ports go, and on after they came. All that
// is to be told of a channel is told in one visit: what it says lies scattered, and takes longer to fetch than to compare.
func (p *pass) showAll() edges {
	p.index()
	all, turned := p.noVerdicts(), edges{}
	for _, c := range p.sorted {
		p.showOne(c)
		all.add(p, c)
		turned.note(c, find(c.Conditions, p.w.Keys.BackendsReady))
	}
	p.plan.Verdicts = all.list
	return turned
}

func (p *pass) showOne(c *member) {
	j := &c.judgement
	if j.deferred {
		p.hideDeferred(c, j)
		return
	}
	patch := p.show(c, j)
	switch {
	case len(patch.Why) == 0:
		p.plan.InPlace[c.Key] = patch.Fingerprint
	case patch.SetAddress && len(patch.Address) == 0 && patch.SetNote && !patch.Drift && p.addsTo(c):
		p.hideOnly(c)
		p.plan.Show = append(p.plan.Show, patch) // what ports it has is told once they are there
	case patch.SetAddress && len(patch.Address) == 0:
		p.plan.Hide = append(p.plan.Hide, patch)
	default:
		p.plan.Show = append(p.plan.Show, patch)
	}
}

// index gets ready to tell what was decided. Nothing is decided any more.
func (p *pass) index() {
	if p.w.Mux != nil {
		p.address = shown(p.w.Mux.Address)
	}
}

// manyPorts is how many of a channel's claims are looked through one by one.
const manyPorts = 8

// claimOf is the claim in force of a channel's port; nil if there is none.
func (p *pass) claimOf(c *member, port *validation.ChannelPort) *Claim {
	id := PortID{c.Key, port.Name, port.Protocol}
	claims := c.claims
	if len(claims) > manyPorts {
		return p.inForceOf(c)[id]
	}
	for _, claim := range claims {
		if claim.State == Held && claim.Owner == id {
			return claim
		}
	}
	return nil
}

func (p *pass) inForceOf(c *member) map[PortID]*Claim {
	if of, known := p.has[c.Key]; known {
		return of
	}
	of := make(map[PortID]*Claim, len(c.claims))
	for _, claim := range c.claims {
		if claim.State == Held {
			of[claim.Owner] = claim
		}
	}
	p.has[c.Key] = of
	return of
}

// hideDeferred takes the address off a channel that loses its last port, though nothing is said of it before the next
// pass.
func (p *pass) hideDeferred(c *member, j *judgement) {
	if !j.attached && len(c.Address) > 0 {
		p.hideOnly(c)
	}
}

func (p *pass) hideOnly(c *member) {
	p.plan.Hide = append(p.plan.Hide, ChannelPatch{Channel: c.Key, SetAddress: true, Why: []string{textAddress(nil)}})
}

// addsTo is true if a channel gets ports that aren't on the mux yet.
func (p *pass) addsTo(c *member) bool {
	return slices.ContainsFunc(c.claims, func(claim *Claim) bool { return claim.State == Held && !p.live.has(claim) })
}

// show compares a channel with what it ought to be.
func (p *pass) show(c *member, j *judgement) ChannelPatch {
	want := p.wants(c, j)
	patch := ChannelPatch{Channel: c.Key, Leftovers: c.Leftovers, Fingerprint: want.fingerprint(c.UID, p.ink)}
	if !sameAddress(c.Address, want.address) {
		patch.Address, patch.SetAddress = want.address, true
		patch.Why = append(patch.Why, textAddress(want.address))
	}
	for i := range want.conditions {
		if condition := &want.conditions[i]; p.setCondition(c, condition, &patch) {
			patch.Why = append(patch.Why, textCondition(*condition))
		}
	}
	if want.dropsBacking && find(c.Conditions, p.w.Keys.BackendsReady) != nil {
		patch.Drop = append(patch.Drop, p.w.Keys.BackendsReady)
		patch.Why = append(patch.Why, p.w.Keys.BackendsReady+" goes")
	}
	if c.PortsNote != want.note {
		patch.PortsNote, patch.SetNote = want.note, true
		patch.Why = append(patch.Why, textAnnotation(p.w.Keys.Ports, want.note))
	}
	patch.Drift = len(patch.Why) > 0 && p.w.InPlace[c.Key] == patch.Fingerprint
	j.drifted = patch.Drift
	if !c.Leftovers.Empty() {
		patch.Why = append(patch.Why, textLeftovers(c.Leftovers))
	}
	patch.Events = append(p.channelEvents(c, j, &patch), p.backingEvents(c, &patch)...)
	return patch
}

// appearance is what a channel ought to look like.
type appearance struct {
	address    []corev1.LoadBalancerIngress
	conditions []metav1.Condition
	// dropsBacking is true if nothing is to be said of backends, as there are no ports for them.
	dropsBacking bool
	note         string
}

func (a *appearance) fingerprint(of types.UID, ink *inkpad) Fingerprint {
	ink.add(string(of), a.note)
	for i := range a.address {
		ink.add(a.address[i].IP, a.address[i].Hostname)
	}
	for i := range a.conditions {
		c := &a.conditions[i]
		ink.add(c.Type, string(c.Status), c.Reason, c.Message)
	}
	return ink.take()
}

func (p *pass) wants(c *member, j *judgement) appearance {
	want := appearance{note: p.portsNote(c), conditions: p.conditions[:0]}
	if p.plan.Freeze != nil {
		want.note = c.PortsNote // if the ledger is lost, it tells what the channel has
	}
	switch {
	case p.lacks(c) != nil && !slices.ContainsFunc(c.claims, p.stays): // nothing of it is reached
	case p.misses(c): // it keeps its address, and gets none
		want.address = c.Address
	case j.attached:
		want.address = p.address
	}
	if condition, said := p.acceptedCondition(c, j); said {
		want.conditions = append(want.conditions, condition)
	}
	want.conditions = append(want.conditions, p.programmedCondition(c, j))
	if condition, said := p.backingCondition(c, j); said {
		want.conditions = append(want.conditions, condition)
	} else {
		want.dropsBacking = !j.attached
	}
	p.conditions = want.conditions // there is room for the next ones
	return want
}

// stays is true for a claim whose port is on the mux, and will be.
func (p *pass) stays(claim *Claim) bool {
	return p.live.has(claim) && (p.plan.Freeze != nil || p.published(claim))
}

// portsNote says which numbers the channel has.
func (p *pass) portsNote(c *member) string {
	if len(c.claims) == 0 {
		return ""
	}
	mappings := p.mappings[:0]
	for i := range c.Ports {
		port := &c.Ports[i]
		if claim := p.claimOf(c, port); claim != nil {
			mappings = append(mappings, validation.PortMapping{Name: port.Name, Port: port.Port, Public: claim.Public})
		}
	}
	p.mappings, p.note = mappings, validation.AppendPorts(p.note[:0], mappings) // there is room for the next ones
	if string(p.note) == c.PortsNote {
		return c.PortsNote
	}
	return string(p.note)
}
