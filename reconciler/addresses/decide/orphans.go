package decide

import (
	"net/netip"
	"slices"
	"time"

	"nowake.ai/svc-lb-mux/balancer/claims"
)

// graceOfAll is how many graces pass before claims are released if every mux of a pool is missing. The list is more
// probably wrong than right then: an API server that was restored from a backup, or a proxy with a fault, can answer
// with an empty one.
const graceOfAll = 10

// orphans releases claims whose mux is gone.
//
//	held ── missing from live lists for the grace ──▶ released ── the grace again ──▶ gone
//	  │     or its deletion was watched                  ▲  │
//	  └──────────────────────────────────────────────────┘  │
//	  ▲                 the mux is back                     │
//	  └─────────────────────────────────────────────────────┘
//
// Each step needs a live list in the pass that takes it. At most claims.MaxReleased claims are in their grace at a
// time, and the others wait: a released claim is longer, and the ConfigMap must have room for it.
func (d *deciding) orphans() {
	missing, held := d.missing()
	released := len(d.base.Muxes) - held
	grace := d.Pool.Grace
	if len(missing) == held {
		grace *= graceOfAll
	}
	for _, m := range missing {
		since, known := d.World.Missing[m.Key]
		if !known {
			if !d.IsLive {
				d.NeedsLive = true
				continue
			}
			since = d.Now
		}
		if since.After(d.Now) { // the clock was set back
			since = d.Now
		}
		d.Decision.Missing[m.Key] = since
		due := since.Add(grace)
		if uid, told := d.Deleted[m.Key]; told && uid == m.UID {
			due = since
		}
		switch {
		case d.Now.Before(due):
			d.again(due)
		case !d.IsLive:
			d.NeedsLive = true
		case d.hides(m):
			d.again(d.Now.Add(time.Second))
		case released >= claims.MaxReleased: // expire asks for another decision
		default:
			released++
			d.next = d.next.Release(m.Key, d.Now)
			d.again(d.Now.Add(d.Pool.Grace))
		}
	}
	d.expire()
}

// missing returns the held claims without a mux, and how many claims are held.
func (d *deciding) missing() ([]claims.Mux, int) {
	var missing []claims.Mux
	held := 0
	for _, m := range d.base.Muxes {
		if !m.IsHeld() {
			continue
		}
		held++
		if d.muxes[m.Key] == nil && d.reads(m.Key.Namespace) {
			missing = append(missing, m)
		}
	}
	return missing, held
}

// hides is true if a Service that isn't this pool's mux any more still shows one of the claim's addresses. The status
// must lose the address before the claim is released: hides adds that write. For a mux of another pool, the decision
// about that pool hides the address.
func (d *deciding) hides(claim claims.Mux) bool {
	for i := range d.Others {
		o := &d.Others[i]
		if o.Key != claim.Key ||
			!slices.ContainsFunc(claim.Addresses, func(a netip.Addr) bool { return slices.Contains(o.Shown, a) }) {
			continue
		}
		if !o.IsMux {
			d.Hide = append(d.Hide,
				Status{Mux: o, SetsAddresses: true, Addressed: o.addressed, Carried: o.carried, CarriedBy: o.carriedBy})
		}
		return true
	}
	return false
}

// expire drops released claims whose reservation is over.
func (d *deciding) expire() {
	for i := range d.next.Muxes {
		m := &d.next.Muxes[i]
		if m.IsHeld() {
			continue
		}
		due := m.ReleasedAt.Add(d.Pool.Grace)
		switch {
		case d.Now.Before(due):
			d.again(due)
		case !d.IsLive:
			d.NeedsLive = true
		}
	}
	if d.IsLive {
		d.next = d.next.Expire(d.Now, d.Pool.Grace)
	}
}
