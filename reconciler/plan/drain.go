package plan

import "slices"

// Drain decides how to say goodbye to a mux: addresses and all else of ours off its channels, then ports and notes off
// the mux. Claims stay in the ledger as they are, so that whoever comes back gives everybody the same numbers. For that
// they must be in the ledger: one that was lost is written first, and a mux that is frozen is left as it is.
func Drain(w World) *Plan {
	p := begin(&w)
	if w.Mux == nil || w.Mux.Deleting || p.otherType() {
		p.bareAll()
		return p.plan
	}
	before := p.ledger()
	p.register()
	if p.plan.Freeze = p.standing(&before); p.plan.Freeze != nil {
		return p.plan
	}
	p.rememberClaims(&before)
	p.bareAll()
	p.bareMux()
	p.measure()
	return p.plan
}

// rememberClaims writes the ledger if it doesn't say yet who has what.
func (p *pass) rememberClaims(before *established) {
	now := p.ledgerNow(before)
	now.Hostnames = before.ledger.Hostnames
	if before.mend == "" && sameClaims(now.Claims, before.ledger.Claims) {
		return
	}
	p.reserve(now, before)
}

// bareAll takes everything of ours off the channels, whatever is wrong with them. One that didn't let it is for another
// pass.
func (p *pass) bareAll() {
	for _, c := range p.sorted {
		if p.w.Stuck[c.Key] {
			p.plan.Again = p.now
			continue
		}
		patch := Stray(p.w.Keys, c.ObservedChannel)
		if len(c.Address) > 0 {
			if patch == nil {
				patch = &ChannelPatch{Channel: c.Key}
			}
			patch.SetAddress = true
			patch.Why = slices.Insert(patch.Why, 0, textAddress(nil))
		}
		if patch != nil {
			p.plan.Hide = append(p.plan.Hide, *patch)
		}
	}
}

// bareMux takes ports and notes off the mux. Ports of a channel that still shows the address stay until it doesn't, and
// with them what says of which ledger they are.
func (p *pass) bareMux() {
	mux := p.w.Mux
	var stay []*Claim
	for _, claim := range p.claims {
		switch {
		case !p.live.has(claim):
		case p.w.Stuck[claim.Owner.Channel]:
			stay = append(stay, claim)
		default:
			p.plan.Leaving = append(p.plan.Leaving, *claim)
		}
	}
	slices.SortFunc(stay, byNumber)
	patch := &MuxPatch{ResourceVersion: mux.ResourceVersion, Annotations: map[string]string{}}
	ports := p.ports(stay)
	if change := p.diffPorts(ports); !change.empty() {
		patch.Ports = ports
		patch.Why = append(patch.Why, change.text()...)
	}
	p.gatherNames() // nobody is attached: what is left are the owner's
	p.annotate(patch, notes{}, 0)
	for _, stamp := range [...]struct {
		key string
		set bool
	}{{p.w.Keys.Generation, mux.Generation != 0}, {p.w.Keys.Ledger, mux.LedgerInForce != ""}} {
		if stamp.set && len(stay) == 0 {
			patch.Annotations[stamp.key] = ""
			patch.Why = append(patch.Why, textAnnotation(stamp.key, ""))
		}
	}
	p.dropLeftovers(patch)
	if len(patch.Why) > 0 {
		p.plan.Publish = patch
	}
}
