package selfmanaged

import (
	"errors"
	"fmt"
	"time"
)

// Policy is how long things last.
type Policy struct {
	// Authority and Leaf are lives. An authority is renewed when two thirds of its life are over, and so is a leaf that had to
	// be shorter than Leaf because its authority ends.
	Authority, Leaf time.Duration
	// Renew is how long before its end any other leaf is renewed.
	Renew time.Duration
	// Trusted is how long a new authority is in the bundle before anything is signed by it; Settle is the same where a
	// leaf is missing or broken, so that nothing can be served until then.
	Trusted, Settle time.Duration
	// Overlap is how long an authority stays in the bundle once nothing is signed by it any more: pods may serve what it
	// signed. A kubelet takes about two minutes to tell them better.
	Overlap time.Duration
}

// DefaultPolicy is for clusters. Tests are in more of a hurry.
func DefaultPolicy() Policy {
	const day = 24 * time.Hour
	return Policy{Authority: 365 * day, Leaf: 90 * day, Renew: 30 * day, Trusted: 10 * time.Minute, Settle: 10 * time.Second,
		Overlap: time.Hour}
}

// Check says what can't work.
func (p Policy) Check() error {
	// After two thirds of its life an authority is to be replaced. Until that is done it must be good.
	room := p.Authority / 3
	var errs []error
	if p.Leaf <= 0 || p.Leaf > p.Authority {
		errs = append(errs, fmt.Errorf("a leaf's life of %s must be more than 0 and no more than the authority's %s", p.Leaf, p.Authority))
	}
	// More, and a leaf that is a little shorter for its authority's sake would be renewed as soon as it is there.
	if p.Renew <= 0 || p.Renew > p.Leaf/4*3 {
		errs = append(errs, fmt.Errorf("a leaf is renewed %s before its end: that must be more than 0, and no more than three quarters "+
			"of its life of %s", p.Renew, p.Leaf))
	}
	if p.Settle < 0 || p.Settle > p.Trusted || p.Overlap < 0 || p.Trusted+p.Overlap > room {
		errs = append(errs, fmt.Errorf("settle %s must be at most trusted %s, and that and overlap %s together at most a third "+
			"of the authority's life, %s", p.Settle, p.Trusted, p.Overlap, room))
	}
	return errors.Join(errs...)
}
