package agent

import (
	"time"
)

// guard notices foreign transactions in nftables. The kernel numbers all transactions of a network namespace one by one. If the number
// isn't the one after our own last transaction, another process changed something: maybe our tables.
//
// A flushed ruleset, a missing chain or set, and a changed rule are found at once, for a few messages. Missing elements are found by
// reading all of them. For thousands of ports that takes a tenth of a second, and kube-proxy may write each second: so the time for it
// is limited to an eighth.
type guard struct {
	number uint32
	known  bool
	// suspect is true until all elements were compared after a foreign transaction.
	suspect   bool
	compareAt time.Time
	retryAt   time.Time
}

const (
	compareShare = 8
	retryFailed  = 2 * time.Second
)

// after takes the number after an own transaction, and remembers how long reading and writing took.
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

// mayRetry is true from time to time after a failed pass.
func (g *guard) mayRetry() bool {
	now := time.Now()
	if now.Before(g.retryAt) {
		return false
	}
	g.retryAt = now.Add(retryFailed)
	return true
}

// disturbed is true if the kernel's tables must be compared with the wanted ones, because another process may have changed them.
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
