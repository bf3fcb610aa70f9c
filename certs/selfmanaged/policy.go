package selfmanaged

import (
	"errors"
	"fmt"
	"time"
)

// Policy holds the lifetimes and waiting times.
type Policy struct {
	// Authority and Leaf are lifetimes. An authority is renewed after two thirds of its life. So is a leaf whose life
	// is shorter than Leaf because its authority ends earlier.
	Authority, Leaf time.Duration
	// Renew is the time from the renewal of any other leaf to that leaf's end.
	Renew time.Duration
	// Trusted is how long a new authority is in the bundle before it signs. Settle is the shorter time for cases that
	// can't wait: the Secret or its leaf is missing or broken, or the signing authority expires soon.
	Trusted, Settle time.Duration
	// Overlap is how long an old authority stays in the bundle after its last leaf was replaced: pods may still serve
	// that leaf, since a kubelet takes about two minutes to update a Secret volume.
	Overlap time.Duration
}

// DefaultPolicy is the policy for clusters. Tests use shorter times.
func DefaultPolicy() Policy {
	const day = 24 * time.Hour
	return Policy{Authority: 365 * day, Leaf: 90 * day, Renew: 30 * day, Trusted: 10 * time.Minute,
		Settle:  10 * time.Second,
		Overlap: time.Hour}
}

// Check returns an error if the policy can't work.
func (p Policy) Check() error {
	// The replacement of an authority starts after two thirds of the authority's life, and must end before that life does.
	room := p.Authority / 3
	var errs []error
	if p.Leaf <= 0 || p.Leaf > p.Authority {
		errs = append(errs, fmt.Errorf("a leaf's life of %s must be more than 0 and no more than the authority's %s", p.Leaf,
			p.Authority))
	}
	// With a longer Renew, a leaf whose life is a little shorter, because its authority ends earlier, would be due at
	// once.
	if p.Renew <= 0 || p.Renew > p.Leaf/4*3 {
		errs = append(errs, fmt.Errorf("a leaf is renewed %s before its end: that must be more than 0, and no more than "+
			"three quarters of its life of %s", p.Renew, p.Leaf))
	}
	if p.Settle < 0 || p.Settle > p.Trusted || p.Overlap < 0 || p.Trusted+p.Overlap > room {
		errs = append(errs, fmt.Errorf("settle %s must be at most trusted %s, and that and overlap %s together at most a "+
			"third of the authority's life, %s", p.Settle, p.Trusted, p.Overlap, room))
	}
	return errors.Join(errs...)
}
