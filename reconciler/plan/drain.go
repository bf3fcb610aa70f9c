package plan

import "slices"

// Drain decides how to say goodbye to a mux: addresses and all else of ours off its channels, then ports and notes off
// the mux. Claims stay in the ledger as they are, so that a reinstall gives every channel the same numbers. So a ledger that was
// lost is written first, and a mux that is frozen is left as it is.
func Drain(w World, m Memory) *Plan {
	p := newPass(&w, &m)
	if !p.isServed() {
		p.bareAll()
		return p.plan
	}
	p.readClaims()
	p.readPorts()
	if p.plan.Freeze = p.frozenBy(); p.plan.Freeze != nil {
		return p.plan
	}
	p.rememberClaims()
	p.bareAll()
	p.bareMux()
	p.measure()
	p.confirmMux()
	return p.plan
}

// rememberClaims writes the ledger if it doesn't say yet which channel has what.
func (p *pass) rememberClaims() {
	now := p.ledgerNow()
	now.Hostnames = p.before.ledger.Hostnames
	if p.before.mend == "" && sameClaims(now.Claims, p.before.ledger.Claims) {
		return
	}
	now.Generation = p.nextGeneration()
	p.plan.Reserve = &LedgerWrite{Ledger: now, Why: p.whyReserve()}
}

// bareAll takes everything of ours off the channels, whatever is wrong with them. A channel whose status can't be written is left for
// another pass.
func (p *pass) bareAll() {
	for _, c := range p.channels {
		if p.m.Stuck[c.Key] {
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
		case p.m.Stuck[claim.Owner.Channel]:
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
	p.gatherNames() // no channel is attached: what is left are the owner's
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
