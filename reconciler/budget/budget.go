// Package budget limits how often the namespaces of a mux change its ports.
package budget

import "time"

// Limit bounds how often the channels of one namespace may change their ports on one mux: Burst passes at once, then
// one pass each Pace. Without a Pace there is no limit. A pass counts once, however many ports it adds or changes.
type Limit struct {
	Burst int
	Pace  time.Duration
}

// Spending counts what the namespaces of one mux have used of their budgets, with the algorithm GCRA: owed is when a
// namespace has its whole burst again, and each pass adds a Pace to it. A Spending is kept in memory only: a restart
// gives every namespace a full burst.
type Spending struct {
	Limit
	owed map[string]time.Time
}

// New returns a Spending with nothing used.
func New(limit Limit) Spending { return Spending{limit, map[string]time.Time{}} }

// Limited returns the namespaces that have used up their budgets, and when each may change ports again.
func (s *Spending) Limited(now time.Time) map[string]time.Time {
	limited := map[string]time.Time{}
	for namespace, owed := range s.owed {
		if latest := now.Add(time.Duration(s.Burst) * s.Pace); owed.After(latest) { // the clock was set back
			owed = latest
			s.owed[namespace] = owed
		}
		if until := s.next(owed); until.After(now) {
			limited[namespace] = until
		}
	}
	return limited
}

// next returns when a pass is allowed again, rounded up to the whole seconds that messages show.
func (s *Spending) next(owed time.Time) time.Time {
	at := owed.Add(-time.Duration(s.Burst-1) * s.Pace)
	if whole := at.Truncate(time.Second); whole.Before(at) {
		return whole.Add(time.Second)
	}
	return at
}

// Spend counts a pass for each of the namespaces whose ports it changes.
func (s *Spending) Spend(namespaces []string, now time.Time) {
	for namespace, owed := range s.owed {
		if !owed.After(now) {
			delete(s.owed, namespace)
		}
	}
	if s.Pace <= 0 {
		return
	}
	for _, namespace := range namespaces {
		from := s.owed[namespace]
		if from.Before(now) {
			from = now
		}
		s.owed[namespace] = from.Add(s.Pace)
	}
}
