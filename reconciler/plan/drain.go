package plan

import "slices"

// Drain plans to remove everything of ours from a mux: first from its channels, then ports and notes from the mux. The
// ledger keeps its claims, so that a reinstall gives every channel the same numbers. Therefore a lost ledger is written
// first, and a frozen mux stays as it is.
func Drain(w World, m Memory) *Plan {
	p := newPass(&w, &m)
	if !p.isServed() {
		p.clearChannels()
		return p.plan
	}
	p.readClaims()
	p.readPorts()
	if p.plan.Freeze = p.frozenBy(); p.plan.Freeze != nil {
		return p.plan
	}
	p.rememberClaims()
	p.clearChannels()
	p.clearMux()
	p.measure()
	p.confirmMux()
	return p.plan
}

// rememberClaims writes the ledger if its claims aren't up to date.
func (p *pass) rememberClaims() {
	now := p.ledgerNow()
	now.Hostnames = p.before.ledger.Hostnames
	if p.before.mend == "" && sameClaims(now.Claims, p.before.ledger.Claims) {
		return
	}
	now.Generation = p.nextGeneration()
	p.plan.Reserve = &LedgerWrite{Ledger: now, Why: p.whyReserve()}
}

// clearChannels removes everything of ours from the channels, also from those with problems. A channel whose status can't be
// written waits for another pass.
func (p *pass) clearChannels() {
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

// clearMux removes ports and notes from the mux. If a channel still shows the address, its ports stay until it doesn't,
// and with them the mux's stamp and ledger annotation.
func (p *pass) clearMux() {
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
	p.gatherNames() // no channel is attached: only the owner's names are left
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
