package vrrp

import (
	"net/netip"
	"time"
)

// State is a router's state.
type State uint8

// The states.
const (
	Stopped State = iota
	Backup
	Active
)

// Action is what the caller must do, in the order of the list.
type Action uint8

// The actions.
const (
	Take      Action = iota // put the addresses on the interface and announce them
	Release                 // take the addresses off the interface
	Advertise               // send an advert with the router's priority
	Resign                  // send an advert with priority 0
)

// Router is a virtual router on one gateway. It is a value: each method returns the router after the event.
type Router struct {
	// Priority is from 1 to 254.
	Priority uint8
	// Interval is how often this router sends adverts while it is active. Adopt changes it.
	Interval time.Duration
	// Believed is the longest interval that this router believes: a longer one in an advert counts as this one, and a
	// shorter one than Interval as Interval. Otherwise one forged advert would make all routers wait for two minutes, or
	// take a seat that has a holder.
	Believed time.Duration
	// Source is the address that this router sends adverts from. Of two routers with one priority, the higher address
	// wins.
	Source netip.Addr

	State State
	// Deadline is when Tick must be called.
	Deadline time.Time
	// activeInterval is the interval of the active router's adverts, as far as it is believed.
	activeInterval time.Duration
}

// Adopt changes the intervals. An active router with a shorter interval sends its next advert soon. A backup waits as
// long as before for the next advert: the active router may have announced its former interval.
func (r Router) Adopt(now time.Time, interval, believed time.Duration) Router {
	if r.State == Active && interval < r.Interval {
		r.Deadline = now
	}
	r.Interval, r.Believed = interval, believed
	return r
}

// Start starts a stopped router as a backup. The holder of the seat may send adverts at the longest interval that is
// believed.
func (r Router) Start(now time.Time) Router {
	if r.State == Stopped {
		r.State, r.activeInterval = Backup, max(r.Interval, r.Believed)
		r.Deadline = now.Add(r.silence())
	}
	return r
}

// Stop stops the router. An active one hands over: a backup takes the seat after its skew, not after three missed
// adverts.
func (r Router) Stop() (Router, []Action) {
	was := r.State
	r.State, r.Deadline = Stopped, time.Time{}
	if was != Active {
		return r, nil
	}
	return r, []Action{Resign, Release}
}

// Tick tells the router the time.
func (r Router) Tick(now time.Time) (Router, []Action) {
	if r.State == Stopped || now.Before(r.Deadline) {
		return r, nil
	}
	actions := []Action{Advertise}
	if r.State == Backup {
		actions = []Action{Advertise, Take}
	}
	r.State, r.Deadline = Active, now.Add(r.Interval)
	return r, actions
}

// Receive tells the router of an advert with its router ID from another router.
func (r Router) Receive(now time.Time, a *Advert, source netip.Addr) (Router, []Action) {
	switch r.State {
	case Backup:
		switch {
		case a.Priority == 0:
			r.Deadline = now.Add(r.skew())
		case a.Priority >= r.Priority:
			r.activeInterval = r.believe(a.Interval)
			r.Deadline = now.Add(r.silence())
		}
	case Active:
		if a.Priority > r.Priority || a.Priority == r.Priority && r.Source.Less(source) {
			r.State, r.activeInterval = Backup, r.believe(a.Interval)
			r.Deadline = now.Add(r.silence())
			return r, []Action{Release}
		}
		r.Deadline = now.Add(r.Interval) // so that the other router steps down at once
		return r, []Action{Advertise}
	}
	return r, nil
}

// believe returns the interval that counts for an advert's interval. Between two adverts of the holder, no router takes
// its seat because of a shorter one.
func (r *Router) believe(interval time.Duration) time.Duration {
	return max(r.Interval, min(interval, r.Believed))
}

// silence is how long a backup waits for adverts until it becomes active.
func (r *Router) silence() time.Duration { return 3*r.activeInterval + r.skew() }

// skew lets the backup with the highest priority be the first.
func (r *Router) skew() time.Duration {
	return time.Duration(256-int(r.Priority)) * r.activeInterval / 256
}
