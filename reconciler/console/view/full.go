package view

import (
	"math"
	"time"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// Window is how far FullIn looks back, and leastGiven is how many ports must have been given in that time: from fewer
// no rate follows.
const (
	Window     = 7 * 24 * time.Hour
	leastGiven = 5
)

// FullIn returns for how long the mux has room at least, if ports are given as fast as in the last week, and none is
// given back. The ledger doesn't have claims that ended, so the true time may be longer. The result is false if the
// ledger doesn't tell: it can't be read, its oldest claim is younger than a day, or nearly no port was given.
func FullIn(s *sight.Sight) (time.Duration, bool) {
	if s.World.Mux == nil || s.Unread.Ledger != "" || s.World.Ledger.Condition != plan.Good {
		return 0, false
	}
	count, now := countGiven(s), s.World.Now
	span := min(now.Sub(count.oldest), Window)
	if count.oldest.IsZero() || span < 24*time.Hour {
		return 0, false
	}
	usage := s.Plan.Usage
	least, told := time.Duration(math.MaxInt64), false
	for _, room := range [...]struct{ free, given int }{
		{usage.Limit - usage.Held - usage.Foreign, count.given}, {usage.RangeFree, count.auto},
	} {
		if room.given >= leastGiven {
			hours := float64(max(room.free, 0)) * span.Hours() / float64(room.given)
			least, told = min(least, time.Duration(hours*float64(time.Hour))), true
		}
	}
	return least, told
}

// given counts the claims that were given within the window.
type given struct {
	given, auto int
	oldest      time.Time
}

func countGiven(s *sight.Sight) given {
	var count given
	claims := s.World.Ledger.Ledger.Claims
	for i := range claims {
		claim := &claims[i]
		// the original wrote no time: such a claim is older than all others
		if claim.State != plan.Held || claim.Since.IsZero() {
			continue
		}
		if count.oldest.IsZero() || claim.Since.Before(count.oldest) {
			count.oldest = claim.Since
		}
		if s.World.Now.Sub(claim.Since) <= Window {
			count.given++
			if claim.Source == plan.Auto {
				count.auto++
			}
		}
	}
	return count
}
