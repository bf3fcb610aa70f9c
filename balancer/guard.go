package balancer

import (
	"time"
)

// guard notices foreign transactions in nftables. The kernel numbers all transactions of a network namespace one by
// one. If the number has changed since our own last transaction, another process changed something: maybe our tables.
//
// The guard finds a flushed ruleset, a missing chain or set, and a changed rule at once, with a few messages. To find
// missing elements, the next pass reads all elements. For thousands of ports that takes a tenth of a second, and
// kube-proxy may write each second. So these passes may take an eighth of the time at most.
type guard struct {
	number uint32
	known  bool
	// suspect is true from a foreign transaction until a pass compares all elements.
	suspect   bool
	compareAt time.Time
	retryAt   time.Time
}

const (
	compareShare = 8
	retryFailed  = 2 * time.Second
)

// after notes the kernel's number after an Apply. From the time that Apply took, it sets when all elements may be
// compared next.
func (g *guard) after(tables Tables, wrote bool, took time.Duration) {
	expected := g.number
	if wrote {
		expected++
	}
	number, err := tables.Generation()
	if err != nil {
		g.known = false
		return
	}
	if g.known && number != expected {
		g.suspect = true
	}
	g.number, g.known = number, true
	g.compareAt = time.Now().Add(compareShare * took)
}

// mayRetry is true at most once every retryFailed: then a failed pass is tried again.
func (g *guard) mayRetry() bool {
	now := time.Now()
	if now.Before(g.retryAt) {
		return false
	}
	g.retryAt = now.Add(retryFailed)
	return true
}

// disturbed is true if the kernel's tables must be compared with the wanted ones, because another process may have
// changed them.
func (a *Agent) disturbed() bool {
	g := &a.guard
	if a.applied == nil {
		return false // there is nothing to guard
	}
	number, err := a.Tables.Generation()
	if err != nil {
		return false
	}
	if g.known && number == g.number && !g.suspect {
		return false
	}
	isNew := !g.known || number != g.number
	g.number, g.known, g.suspect = number, true, true
	if isNew {
		if intact, err := a.Tables.Intact(); err == nil && !intact {
			a.Log.Warnw("Another process changed our tables: they are restored")
			a.Metrics.restored.Inc()
			g.suspect = false
			return true
		}
	}
	if time.Now().Before(g.compareAt) {
		return false
	}
	g.suspect = false
	a.Tables.Forget() // the pass reads all elements
	return true
}
