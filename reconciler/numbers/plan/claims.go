package plan

import "math"

// before is what the ledger said when the pass began.
type before struct {
	ledger Ledger // empty if it was lost
	// mend says why the ledger must be written though no claim changes.
	mend string
	// renew is true if the claims were rebuilt: the ledger gets a new generation.
	renew bool
	// broken says why the ledger can't be used.
	broken string
	// guessed is true if the ledger is broken and no good one is known: there may be claims that the pass doesn't know.
	guessed bool
}

// reader reads claims, and sorts the ports on the mux.
type reader struct {
	*pass
	fromMux *[]Claim // see rebuilt
}

// rebuilt returns the claims that can be derived from the mux's ports.
func (r *reader) rebuilt() []Claim {
	if r.fromMux == nil {
		claims := rebuild(r.pass, nil, false)
		r.fromMux = &claims
	}
	return *r.fromMux
}

// readClaims decides which channel owns which number.
//
//	good                     as the ledger says
//	the original's           as the ledger says, and claims for ports on the mux that the ledger lacks
//	good, the mux lost its   the same: nobody can tell whether the ledger is an old backup
//	generation
//	lost or emptied          rebuilt from the last good ledger, if this process remembers one, from the mux, our
//	                         slices, and the channels' ports annotations
//	edited                   rebuilt, and the ledger's claims that the mux doesn't contradict
//	none yet (a new mux)     rebuilt, which finds nothing
//	unusable                 frozen, with the last good ledger, or else rebuilt from the mux
//
// A lost ledger isn't rebuilt while the mux is paused or has a mistake, for a while after this process became the
// leader, and on a Gateway's mux until the listeners are known. An edited ledger waits for the listeners only.
func readClaims(p *pass) {
	r := &reader{pass: p}
	read := &r.w.Ledger
	r.onMux = indexPorts(r.w.Mux.Ports, r.w.Mux.Ranges)
	r.before = before{ledger: read.Ledger.sorted(), broken: r.brokenLedger()}
	was := &r.before
	lost := r.isLost()
	unusable := was.broken != "" || lost && (len(r.w.Mux.Problems) > 0 || r.w.Mux.Disabled)
	switch {
	case unusable && r.m.LastGood != nil:
		r.adopt(r.m.LastGood.Claims)
	case unusable:
		was.guessed = true
		r.adopt(r.rebuilt())
	case read.Condition == Good && was.ledger.Generation > 0 && r.w.Mux.Generation > 0:
		r.adopt(was.ledger.Claims)
	case read.Condition == Good && !lost: // the original's, or the mux has no generation to compare with
		r.adopt(explainPorts(p, was.ledger.Claims))
	default: // edited, lost, emptied, or not there yet
		known := was.ledger.Claims
		if lost && r.m.LastGood != nil {
			known = r.m.LastGood.Claims
		}
		r.adopt(rebuild(p, known, true))
		was.renew = len(r.claims) > 0 || r.w.Mux.Generation > 0 || was.ledger.Generation > 0
		if was.renew {
			was.mend = textRebuilt(read, r.w.Keys.Ledger)
		}
	}
	switch {
	case was.mend != "":
	case read.Moved:
		was.mend = textMoved(read.Name, r.w.Mux.Ledger)
	case read.Unlabelled:
		was.mend = textRelabelled(read.Name)
	}
	r.nameClaims()
	r.detectRecreated()
	r.keepProvider()
	if !unusable {
		r.takeBack()
	}
}

// isLost is true if there is no ledger, or one without claims, though the mux has channels' ports or a generation. A
// good ledger with a generation isn't lost: it may be empty.
func (r *reader) isLost() bool {
	read := &r.w.Ledger
	if read.Condition > Missing || len(read.Ledger.Claims) > 0 || read.Condition == Good && read.Ledger.Generation > 0 {
		return false
	}
	return read.Condition != Good && r.w.Mux.Generation > 0 || len(r.rebuilt()) > 0
}

// brokenLedger says why a ledger freezes the mux; empty if the ledger can be used, or rebuilt.
func (r *reader) brokenLedger() string {
	read, stamp := &r.w.Ledger, r.w.Mux.Generation
	switch read.Condition {
	case Unreadable, Foreign, Newer:
		return read.Why
	case Good, Edited:
		if read.Ledger.Generation < stamp {
			return textOutdated(read, stamp)
		}
	case Missing:
	}
	if r.w.Now.Before(r.w.RebuildFrom) && r.isLost() { // the process that led before may have a write under way
		r.lookAgain(r.w.RebuildFrom)
		return textRebuildsLater(read.Name, r.w.RebuildFrom)
	}
	if r.w.ListenersUnknown && (read.Condition == Edited || r.isLost()) { // the listeners' ports would seem to be nobody's
		return textListenersUnknown(read)
	}
	return ""
}

// nextGeneration returns one more than the higher generation of ledger and mux.
func (p *pass) nextGeneration() int64 {
	latest := max(p.before.ledger.Generation, p.w.Mux.Generation)
	if latest == math.MaxInt64 {
		return latest // written by hand; there is no later one
	}
	return latest + 1
}

// nameClaims gives a port name to claims that the original wrote. The original's ledger has no names: the original
// derives them from the names of channel and port.
func (r *reader) nameClaims() {
	for _, claim := range r.claims {
		if claim.MuxName != "" {
			continue
		}
		name := legacyName(claim.Owner)
		if r.names[name] != nil || r.isAnothers(claim, name) {
			name = r.newName(claim.Owner)
		}
		claim.MuxName = name
		r.names[name] = claim
	}
	delete(r.names, "") // the empty name, which the original's claims had until now
}

// isAnothers is true if the port of that name on the mux belongs to another claim: two ports can have the same name of
// seven digits.
func (r *reader) isAnothers(claim *Claim, name string) bool {
	port := r.onMux.named(name)
	if port == nil || SlotOf(port) == claim.Slot() {
		return false
	}
	other := r.holders.at(SlotOf(port))
	return other != nil && legacyName(other.Owner) == name
}

// newName returns a name that no port on the mux and no claim has.
func (p *pass) newName(id PortID) string {
	return freeName(id, func(name string) bool {
		_, isLive := p.onMux.spanNamed(name)
		return isLive || p.isNamed(name)
	})
}
