package plan

import "slices"

// draining plans the writes before an uninstallation.
type draining struct{ writing }

// Drain plans to remove everything of ours from a mux: first from its channels, then ports and notes from the mux. The
// ledger keeps its claims, so that a reinstall gives every channel the same numbers. Therefore a lost ledger is written
// first, and a frozen mux stays as it is.
func Drain(w World, m Memory) *Plan {
	p := newPass(&w, &m)
	d := &draining{writing{p}}
	if !p.canGivePorts() {
		d.clearChannels()
		return p.plan
	}
	readClaims(p)
	readPorts(p)
	if p.plan.Freeze = frozenBy(p); p.plan.Freeze != nil {
		return p.plan
	}
	d.rememberClaims()
	d.clearChannels()
	d.clearMux()
	p.measure()
	confirmMux(p)
	return p.plan
}

// rememberClaims writes the ledger if its claims aren't up to date.
func (d *draining) rememberClaims() {
	now := d.ledgerNow()
	now.Hostnames = d.before.ledger.Hostnames
	if d.before.mend == "" && SameClaims(now.Claims, d.before.ledger.Claims) {
		return
	}
	now.Generation = d.nextGeneration()
	d.plan.Reserve = &LedgerWrite{Ledger: now, Why: whyLedger(d.before.mend, &d.before.ledger, &now)}
}

// clearChannels removes everything of ours from the channels, also from those with problems. A channel whose status
// can't be written waits for another pass.
func (d *draining) clearChannels() {
	for _, c := range d.channels {
		if d.m.Stuck[c.Key] {
			d.plan.Again = d.now
			continue
		}
		patch := Stray(d.w.Keys, c.ObservedChannel)
		if len(c.Address) > 0 {
			if patch == nil {
				patch = &ChannelPatch{Channel: c.Key}
			}
			patch.SetAddress = true
			patch.Why = slices.Insert(patch.Why, 0, textAddress(nil))
		}
		if patch != nil {
			d.plan.Hide = append(d.plan.Hide, *patch)
		}
	}
}

// clearMux removes ports and notes from the mux. The ports of a channel stay as long as its address can't be taken off,
// and with them the mux's stamp and ledger annotation.
func (d *draining) clearMux() {
	mux := d.w.Mux
	var stay []*Claim
	for _, claim := range d.claims {
		switch {
		case !d.onMux.has(claim):
		case d.m.Stuck[claim.Owner.Channel]:
			stay = append(stay, claim)
		default:
			d.plan.Leaving = append(d.plan.Leaving, *claim)
		}
	}
	slices.SortFunc(stay, byNumber)
	patch := &MuxPatch{ResourceVersion: mux.ResourceVersion, Annotations: map[string]string{}}
	ports, ranges := d.ports(stay), d.ranges(stay)
	if change := d.diffPorts(ports, ranges); !change.empty() {
		patch.Ports = ports
		patch.Why = append(patch.Why, change.text()...)
	}
	gatherNames(d.pass) // no channel is attached: only the owner's names are left
	d.annotate(patch, target{ranges: ranges})
	for _, stamp := range [...]struct {
		key string
		set bool
	}{{d.w.Keys.Generation, mux.Generation != 0}, {d.w.Keys.Ledger, mux.LedgerInForce != ""}} {
		if stamp.set && len(stay) == 0 {
			patch.Annotations[stamp.key] = ""
			patch.Why = append(patch.Why, textAnnotation(stamp.key, ""))
		}
	}
	d.dropLeftovers(patch)
	if len(patch.Why) > 0 {
		d.plan.Publish = patch
	}
}
