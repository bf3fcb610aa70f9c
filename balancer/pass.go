package balancer

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/keep"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// pass observes, decides and applies once.
func (a *Agent) pass(ctx context.Context) {
	defer func(start time.Time) { a.Metrics.passes.Observe(time.Since(start).Seconds()) }(time.Now())
	w, err := a.observe()
	if err != nil {
		a.fail(err)
		a.report()
		return
	}
	d := want.Decide(w)
	a.tellUnread(d.Unread)
	a.decision = d
	if d.Wanted == nil {
		a.report()
		return
	}
	a.before = d.Wanted
	a.probe(d.Backends)
	a.Metrics.traffic.carry(d.Wanted.Tables.Addresses)
	for _, address := range d.Wanted.Tables.Addresses {
		a.known[address.Address] = true
	}
	if err := a.release(ctx, d.Wanted); err != nil {
		if ctx.Err() == nil { // otherwise the agent ends
			a.fail(err)
			a.report()
		}
		return
	}
	had := a.applied
	err = a.apply(&d.Wanted.Tables)
	a.fail(err)
	a.dropFlows(had)
	if seatErr := a.setSeats(ctx, a.carriable(d.Wanted)); seatErr != nil && ctx.Err() == nil {
		a.fail(errors.Join(err, seatErr))
	}
	a.saver.save(a.state())
	a.report()
}

// observe returns the present state of news, disk and machine.
func (a *Agent) observe() (*want.World, error) {
	a.news = a.News.Latest()
	assigned, err := a.Addresses()
	if err != nil {
		return &want.World{}, err
	}
	return &want.World{Keys: a.Keys, Settings: a.settings(assigned), Claims: a.news.Claims, Muxes: a.news.Muxes,
		Slices: a.news.Slices,
		Before: a.before}, nil
}

// settings returns the settings of this machine. Addresses that this gateway carries for muxes aren't its own.
func (a *Agent) settings(assigned []announce.Assigned) want.Settings {
	s := want.Settings{Gateway: a.Name, ReturnPath: a.ReturnPath, BackendNetworks: a.BackendNetworks, Node: a.Node,
		Probes: a.Prober != nil,
		Source: a.Source}
	hasMarks := slices.ContainsFunc(assigned, func(x announce.Assigned) bool { return x.Marked })
	for _, x := range assigned {
		if !x.Marked && (hasMarks || !a.known[x.Address]) {
			s.Own = append(s.Own, x.Address)
		}
	}
	return s
}

// probe gives the prober its backends. While news is missing, the prober keeps those that it has.
func (a *Agent) probe(backends map[want.Backend]bool) {
	if a.Prober == nil || len(a.decision.Unread) > 0 {
		return
	}
	list := make([]netip.AddrPort, 0, len(backends))
	for b := range backends {
		list = append(list, netip.AddrPortFrom(b.Address, b.Port))
	}
	slices.SortFunc(list, netip.AddrPort.Compare)
	a.Prober.Set(list)
}

// release takes the addresses that aren't wanted any more off the interface, while the tables still guard them.
func (a *Agent) release(ctx context.Context, wanted *want.Wanted) error {
	if !a.seatSet {
		return nil
	}
	stays := map[netip.Addr]bool{}
	for _, s := range wanted.Seats {
		for _, address := range s.Addresses {
			stays[address] = true
		}
	}
	seats := slices.Clone(a.seats)
	for i := range seats {
		seats[i].Addresses = slices.DeleteFunc(slices.Clone(seats[i].Addresses), func(x netip.Addr) bool { return !stays[x] })
	}
	return a.setSeats(ctx, seats)
}

// carriable returns the wanted seats, with only those addresses that the kernel's tables guard. If the tables aren't
// known, it returns no seat, so that other gateways take them all.
func (a *Agent) carriable(wanted *want.Wanted) []want.Seat {
	if a.applied == nil {
		return nil
	}
	guarded := map[netip.Addr]bool{}
	for i := range a.applied.Addresses {
		guarded[a.applied.Addresses[i].Address] = true
	}
	seats := slices.Clone(wanted.Seats)
	for i := range seats {
		seats[i].Addresses = slices.DeleteFunc(slices.Clone(seats[i].Addresses), func(x netip.Addr) bool {
			return !guarded[x]
		})
	}
	return seats
}

// setSeats sets the seats if they changed. After a failure, the next pass tries again.
func (a *Agent) setSeats(ctx context.Context, seats []want.Seat) error {
	if a.seatSet && reflect.DeepEqual(seats, a.seats) {
		return nil
	}
	if err := a.Seats.Set(ctx, seats); err != nil {
		return err
	}
	a.seats, a.seatSet = seats, true
	return nil
}

// fail records an error about the whole machine. A nil error ends the former one.
func (a *Agent) fail(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != a.failure {
		a.Log.Errorw("The tables or addresses can't be brought up to date", "error", text)
	}
	a.failure = text
	a.ready.Store(err == nil)
}

func (a *Agent) tellUnread(unread []string) {
	if len(unread) > 0 && !slices.Equal(unread, a.decision.Unread) {
		a.Log.Warnw("Everything stays as it was, because news is missing", "unread", unread)
	}
}

// state returns the state to save. It includes the kernel's tables if they aren't the wanted ones. Otherwise, the next
// start would put addresses on the interface that no table guards.
func (a *Agent) state() *keep.State {
	s := &keep.State{Gateway: a.Name, Pool: a.Pool, Wanted: a.before}
	if a.applied != &a.before.Tables {
		s.Tables = cmp.Or(a.applied, &want.Tables{})
	}
	return s
}

// portName returns the name of a mux's port.
func portName(svc *corev1.Service, protocol corev1.Protocol, number uint16) string {
	if svc == nil {
		return ""
	}
	for _, p := range svc.Spec.Ports {
		if p.Port == int32(number) && (p.Protocol == protocol || p.Protocol == "" && protocol == corev1.ProtocolTCP) {
			return p.Name
		}
	}
	return ""
}
