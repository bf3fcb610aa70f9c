package decide

import (
	"slices"
	"time"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
)

// setAdverts changes the intervals of adverts towards the pool's interval, one step in a pass:
//
//	longer    believe the new interval ── every gateway believes it ──▶ send at the new interval
//	shorter   send at the new interval ── every gateway sends so ─────▶ believe only the new interval
//
// A gateway that is late by any number of steps never sends less often than another one believes. So no two gateways
// hold a seat because of a change. Gateways whose Lease is stale count, too: VRRP may work on a machine that doesn't
// reach the API server.
func (d *deciding) setAdverts() {
	d.next.Adverts = claims.Adverts{}
	if d.Pool.Announce == config.AnnounceNone {
		return
	}
	plain := claims.Adverts{Interval: claims.DefaultInterval, Believed: claims.DefaultInterval}
	now, wanted := d.base.Adverts, d.Pool.AdvertInterval
	if now == (claims.Adverts{}) {
		now = plain
	}
	next := now
	switch {
	case wanted > now.Believed:
		next.Believed = wanted
	case wanted < now.Interval:
		next.Interval = wanted
	case wanted > now.Interval:
		if d.all(func(a *lease.Adverts) bool { return a.Believes >= wanted }) {
			next.Interval = wanted
		}
	case wanted < now.Believed:
		if d.all(func(a *lease.Adverts) bool { return a.Sends <= wanted }) {
			next.Believed = wanted
		}
	}
	if next != plain {
		d.next.Adverts = next
	}
}

// all is true if it holds for the intervals of every gateway, as the gateway reports them for the stored claims. An
// alarm names each gateway that is away, of an older version, or doesn't follow, because the step may wait for it for
// long.
func (d *deciding) all(holds func(*lease.Adverts) bool) bool {
	all := true
	for i := range d.Gateways {
		g := &d.Gateways[i]
		isTold := g.Report != nil && g.Report.Adverts != nil
		if isTold && g.Report.Claims == d.Stored.Version && holds(g.Report.Adverts) {
			continue
		}
		all = false
		if !g.IsLive || !isTold || d.Stored.Claims != nil && g.Report.Claims == d.Stored.Version {
			d.Alarms = append(d.Alarms, Alarm{g.Name, IntervalWaits, textIntervalWaits(g.Name, d.Pool.AdvertInterval)})
		}
	}
	d.sortAlarms()
	return all
}

// rebuiltAdverts returns the intervals for claims that are lost. Of the pool's interval, the default, and those that
// gateways report, the shortest one is sent and the longest one is believed. The next passes change them in steps.
func (d *deciding) rebuiltAdverts() claims.Adverts {
	if d.Pool.Announce == config.AnnounceNone {
		return claims.Adverts{}
	}
	intervals := []time.Duration{d.Pool.AdvertInterval, claims.DefaultInterval}
	for i := range d.Gateways {
		r := d.Gateways[i].Report
		if r != nil && r.Adverts != nil && claims.IsInterval(r.Adverts.Sends) {
			intervals = append(intervals, r.Adverts.Sends)
		}
	}
	return claims.Adverts{Interval: slices.Min(intervals), Believed: slices.Max(intervals)}
}
