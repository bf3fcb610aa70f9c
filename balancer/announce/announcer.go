package announce

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/vrrp"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// Announcer answers for the addresses of seats. Set and Status may be called while Run runs.
type Announcer struct {
	Options
	sets    chan setting
	changed chan struct{}
	adverts chan heard

	// The fields below belong to Run.
	link   *link
	hellos *hellos
	wire   *wire
	device *net.Interface
	seats  map[uint8]*seat
	// put are the addresses that this process, or the one before it, put on the interface.
	put map[netip.Addr]bool
	// isSet is false until the first Set. Until then, the announcer doesn't know which addresses must leave the interface.
	isSet      bool
	refreshAt  time.Time
	failing    map[string]string // what fails now, by reason
	taking     sync.WaitGroup    // calls of Taken
	strangers  map[string]stranger
	sendErrors int

	mu     sync.Mutex
	status Status
}

type setting struct {
	seats []want.Seat
	done  chan struct{}
}

// stranger is a fault of the segment, and when it was seen last.
type stranger struct {
	Fault
	seen time.Time
}

// New returns an announcer. Run opens its sockets, in the network namespace of the process.
func New(o Options) *Announcer {
	if o.Log == nil {
		o.Log = zap.NewNop().Sugar()
	}
	a := &Announcer{Options: o, sets: make(chan setting), changed: make(chan struct{}, 1), adverts: make(chan heard, 64),
		seats: map[uint8]*seat{}, put: map[netip.Addr]bool{}, failing: map[string]string{}, strangers: map[string]stranger{}}
	for _, address := range o.Known {
		a.put[address] = true
	}
	return a
}

// Set replaces the seats. It returns once the addresses that this gateway must not hold any more are off the interface.
func (a *Announcer) Set(ctx context.Context, seats []want.Seat) error {
	s := setting{slices.Clone(seats), make(chan struct{})}
	select {
	case a.sets <- s:
		<-s.done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Addresses returns all addresses of this machine, sorted.
func (a *Announcer) Addresses() ([]Assigned, error) { return Addresses() }

// Status returns what the announcer does now.
func (a *Announcer) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Status{slices.Clone(a.status.Holds), slices.Clone(a.status.Faults), a.status.Adverts}
}

// Changed is readable after the status changed.
func (a *Announcer) Changed() <-chan struct{} { return a.changed }

// Run answers for addresses until the context ends. Then it hands over each seat that another gateway can take. The
// addresses of all other seats stay.
func (a *Announcer) Run(ctx context.Context) error {
	var err error
	if a.link, err = openLink(); err != nil {
		return err
	}
	defer a.taking.Wait()
	defer a.link.conn.Close()
	if a.hellos, err = openHellos(); err != nil {
		return err
	}
	defer a.hellos.close()
	defer a.closeWire()
	for {
		timer := time.NewTimer(time.Until(a.deadline()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return a.handOver()
		case s := <-a.sets:
			a.set(s.seats)
			a.publish()
			close(s.done)
		case h := <-a.adverts:
			a.receive(h)
		case <-timer.C:
			a.receiveAll() // a process that was late must not take a seat while adverts of the seat's holder wait here
			a.tick(time.Now())
		}
		timer.Stop()
		a.publish()
	}
}

func (a *Announcer) deadline() time.Time {
	next := a.refreshAt
	for _, s := range a.seats {
		next = sooner(sooner(next, s.router.Deadline), s.nextHello())
	}
	return next
}

// set replaces the seats.
func (a *Announcer) set(seats []want.Seat) {
	now, keep := time.Now(), map[uint8]bool{}
	a.isSet = true
	for _, next := range seats {
		keep[next.RouterID] = true
		s := a.seats[next.RouterID]
		if s == nil {
			s = &seat{}
			a.seats[next.RouterID] = s
		}
		intervals := Intervals(&next, a.Interval)
		s.router = s.router.Adopt(now, intervals.Interval, intervals.Believed)
		if !slices.Equal(next.Addresses, s.Addresses) {
			s.announceAgain(now)
		}
		s.Seat, s.router.Priority = next, next.Priority
		if a.wire != nil {
			s.router.Source = a.wire.source
			s.router = s.router.Start(now)
		}
	}
	for id, s := range a.seats {
		if !keep[id] {
			a.stop(s)
			delete(a.seats, id)
		}
	}
	a.refresh(now)
}

func (a *Announcer) stop(s *seat) {
	var actions []vrrp.Action
	s.router, actions = s.router.Stop()
	a.carryOut(s, actions)
}

// tick tells the routers the time, announces addresses that are due, and refreshes the interface if that is due.
func (a *Announcer) tick(now time.Time) {
	for _, s := range a.seats {
		var actions []vrrp.Action
		s.router, actions = s.router.Tick(now)
		a.carryOut(s, actions)
		if at := s.nextHello(); !at.IsZero() && !now.Before(at) && a.device != nil {
			s.hellos++
			a.tell(NotAnnounced, a.hellos.send(a.device, s.Addresses))
		}
	}
	if !now.Before(a.refreshAt) {
		a.refresh(now)
	}
}

// carryOut carries out the actions of a seat's router.
func (a *Announcer) carryOut(s *seat, actions []vrrp.Action) {
	for _, action := range actions {
		switch action {
		case vrrp.Take:
			a.Log.Infow("Takes a seat", "routerID", s.RouterID, "addresses", len(s.Addresses))
			s.isTaken = false
			s.announceAgain(time.Now())
			a.sync()
			if addresses := s.Addresses; a.Taken != nil {
				a.taking.Go(func() { a.Taken(addresses) })
			}
		case vrrp.Release:
			a.Log.Infow("Leaves a seat to another gateway", "routerID", s.RouterID)
			a.sync()
		case vrrp.Advertise:
			a.send(s, s.advert(a.Group, a.isSix()))
		case vrrp.Resign:
			advert := s.advert(a.Group, a.isSix())
			advert.Priority = 0
			a.send(s, advert)
		}
	}
}

// handOver resigns every seat that another gateway can take.
func (a *Announcer) handOver() error {
	for id, s := range a.seats {
		if !isLone(&s.Seat) {
			a.stop(s)
			delete(a.seats, id)
		}
	}
	if a.isSet {
		a.sync()
	}
	a.publish()
	if text := a.failing[NoAddress]; text != "" {
		return errors.New(text)
	}
	return nil
}

// publish makes the status known if it changed.
func (a *Announcer) publish() {
	var now Status
	for id, s := range a.seats {
		if a.Mode == None || s.holds() && a.device != nil {
			now.Holds = append(now.Holds, id)
		}
	}
	slices.Sort(now.Holds)
	for _, reason := range slices.Sorted(maps.Keys(a.failing)) {
		now.Faults = append(now.Faults, Fault{reason, a.failing[reason]})
	}
	for _, key := range slices.Sorted(maps.Keys(a.strangers)) {
		if time.Since(a.strangers[key].seen) > strangerFor {
			delete(a.strangers, key)
			continue
		}
		now.Faults = append(now.Faults, a.strangers[key].Fault)
	}
	if a.isSet {
		now.Adverts = a.intervals()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Equal(&a.status) {
		return
	}
	a.status = now
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// intervals returns the intervals of all seats. Without a seat, the gateway sends nothing and contradicts no other
// gateway.
func (a *Announcer) intervals() *lease.Adverts {
	used := &lease.Adverts{Believes: claims.LongestInterval}
	if a.Mode == None {
		return used
	}
	for _, s := range a.seats {
		used.Sends, used.Believes = max(used.Sends, s.router.Interval), min(used.Believes, s.router.Believed)
	}
	return used
}

// strangerFor is how long the status shows a fault of the segment after it was seen last.
const strangerFor = time.Minute
