package addresses

import (
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/balancer/lease"
)

func renewedAt(at time.Time) lease.Gateway {
	return lease.Gateway{Name: "a", RenewedAt: at, Duration: 40 * time.Second}
}

func TestLivenessCountsRenewalsThatWereSeen(t *testing.T) {
	const skew = -time.Hour // the gateway's clock is behind
	s := newSightings()
	see := func(renewed, now time.Time) bool {
		s.see([]lease.Gateway{renewedAt(renewed)}, now)
		return s.isLive("a", now)
	}
	for _, step := range []struct {
		what         string
		renewed, now time.Duration
		live         bool
	}{
		{"an old Lease that is seen for the first time", skew, 0, false},
		{"the first renewal", skew + 10*time.Second, 10 * time.Second, true},
		{"nothing for less than the duration", skew + 10*time.Second, 49 * time.Second, true},
		{"nothing for the duration", skew + 10*time.Second, 50 * time.Second, false},
		{"another renewal", skew + 60*time.Second, 60 * time.Second, true},
		{"our clock is set back", skew + 60*time.Second, -time.Hour, true},
		{"and nothing for the duration", skew + 60*time.Second, -time.Hour + 40*time.Second, false},
	} {
		if got := see(noon.Add(step.renewed), noon.Add(step.now)); got != step.live {
			t.Errorf("%s: live is %t", step.what, got)
		}
	}
}

func TestFreshLeaseIsLiveAtOnceAndForgottenWithItsLease(t *testing.T) {
	s := newSightings()
	g := renewedAt(noon)
	s.see([]lease.Gateway{g}, noon.Add(time.Second))
	if !s.isLive("a", noon.Add(2*time.Second)) || !s.due(noon.Add(2*time.Second)).Equal(noon.Add(41*time.Second)) {
		t.Error("a fresh Lease isn't live")
	}
	s.see(nil, noon.Add(3*time.Second))
	if s.isLive("a", noon.Add(3*time.Second)) {
		t.Error("a gateway without a Lease is live")
	}
	if !s.renewed(&g, noon.Add(4*time.Second)) || s.renewed(&g, noon.Add(5*time.Second)) {
		t.Error("only the first renewal of a gateway that wasn't live is news")
	}
}
