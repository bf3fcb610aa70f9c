package addresses_test

import (
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
)

// An agent of an older version reports no intervals. Then it reports them for the claims that it has read.
func TestIntervalChangesOnceTheLeaseSaysThatTheGatewayFollows(t *testing.T) {
	s, pass := newPasses(t, "pools: [{name: p, addresses: [192.0.2.1], routerIDs: [7], advertInterval: 1s}]", nil)
	s.start("gw-0")
	expect := func(when string, want claims.Adverts) {
		t.Helper()
		pass()
		pass()
		if got := s.claims("p").Adverts; got != want {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
	}
	expect("without a report", claims.Adverts{Interval: claims.DefaultInterval, Believed: time.Second})
	if !slices.Contains(s.events, "pool p gw-0 IntervalWaits") {
		t.Errorf("Events: %v", s.events)
	}
	reports := func(version string) {
		g := lease.Gateway{Name: "gw-0", Pool: "p", Holder: "gw-0", RenewedAt: s.now, Duration: 40 * time.Second,
			Facts: &lease.Facts{Capacity: 1},
			Report: &lease.Report{Claims: lease.Version{UID: s.maps[claims.Name("p")].UID, ResourceVersion: version},
				Adverts: &lease.Adverts{Sends: claims.DefaultInterval, Believes: time.Second}}}
		var l coordinationv1.Lease
		if err := g.Write(&l, s.language.Keys()); err != nil {
			t.Fatal(err)
		}
		l.Namespace, l.ResourceVersion = "lb", s.next()
		s.leases[l.Name] = &l
	}
	reports("1")
	expect("a report for older claims", claims.Adverts{Interval: claims.DefaultInterval, Believed: time.Second})
	reports(s.maps[claims.Name("p")].ResourceVersion)
	expect("a report for the claims", claims.Adverts{Interval: time.Second, Believed: time.Second})
}
