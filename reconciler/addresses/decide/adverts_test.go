package decide_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
)

// follower is a gateway that reads claims, and reports, late.
type follower struct {
	read   claims.Adverts // zero for the default
	at     lease.Version
	report *lease.Report
}

func (f *follower) uses() lease.Adverts {
	if f.read == (claims.Adverts{}) {
		return lease.Adverts{Sends: claims.DefaultInterval, Believes: claims.DefaultInterval}
	}
	return lease.Adverts{Sends: f.read.Interval, Believes: f.read.Believed}
}

// pool is a pool whose interval changes.
type pool struct {
	interval  time.Duration
	stored    *claims.Claims
	version   int
	followers []*follower
}

func (p *pool) at() lease.Version { return lease.Version{ResourceVersion: fmt.Sprint(p.version)} }

func (p *pool) pass() {
	w := &decide.World{IsLive: true, Now: noon,
		Pool:   config.Pool{Name: "p", RouterIDs: []uint8{7}, Announce: config.AnnounceVRRP, AdvertInterval: p.interval},
		Stored: decide.Stored{Claims: p.stored, MayRebuild: true}}
	if p.stored != nil {
		w.Stored.Version = p.at()
	}
	for i, f := range p.followers {
		g := lease.Gateway{Name: fmt.Sprint("gw-", i), Facts: &lease.Facts{Capacity: 1}, Report: f.report}
		w.Gateways = append(w.Gateways, decide.Gateway{IsLive: true, Gateway: g})
	}
	if d := decide.Decide(w); d.Claims != nil {
		p.stored = d.Claims
		p.version++
	}
}

func (f *follower) follow(p *pool) {
	if p.stored != nil {
		f.read, f.at = p.stored.Adverts, p.at()
	}
}

func (f *follower) tell() {
	uses := f.uses()
	f.report = &lease.Report{Claims: f.at, Adverts: &uses}
}

// Whatever the order in which gateways read the claims and report, no gateway sends adverts less often than another one
// believes.
func TestNoGatewaySendsLessOftenThanAnotherBelieves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &pool{interval: claims.DefaultInterval}
		for range rapid.IntRange(1, 3).Draw(t, "gateways") {
			p.followers = append(p.followers, &follower{})
		}
		one := func() *follower { return rapid.SampledFrom(p.followers).Draw(t, "gateway") }
		settle := func() {
			for range 5 {
				p.pass()
				for _, f := range p.followers {
					f.follow(p)
					f.tell()
				}
			}
		}
		settle()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			what := []string{"pass", "pass", "read", "read", "report", "report", "interval", "lost", "another mux"}
			switch rapid.SampledFrom(what).Draw(t, "what") {
			case "pass":
				p.pass()
			case "read":
				one().follow(p)
			case "report":
				one().tell()
			case "interval":
				intervals := []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, time.Second, 2 * time.Second}
				p.interval = rapid.SampledFrom(intervals).Draw(t, "interval")
			case "another mux":
				p.version++ // the claims change for another reason
			case "lost": // once the gateways follow: a loss in the middle of a change is one disaster too many
				settle()
				p.stored = nil
				p.version++
			}
			sends, believes := time.Duration(0), claims.LongestInterval
			for _, f := range p.followers {
				sends, believes = max(sends, f.uses().Sends), min(believes, f.uses().Believes)
			}
			if sends > believes {
				t.Fatalf("a gateway sends adverts every %s, and another one believes %s at most", sends, believes)
			}
		}
		settle()
		for _, f := range p.followers {
			if got, want := f.uses(), (lease.Adverts{Sends: p.interval, Believes: p.interval}); got != want {
				t.Errorf("the pool's interval is %s, and a gateway uses %+v", p.interval, got)
			}
		}
	})
}
