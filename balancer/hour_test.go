package balancer_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nowake.ai/svc-lb-mux/balancer"
	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/keep"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/validation"
)

// routed takes the place of the announcer: routes lead to the seats' addresses. Sockets of the real announcer would
// stop the test's clock.
type routed struct {
	mu    sync.Mutex
	holds []uint8
	// lost counts calls that took a seat away.
	lost int
}

func (r *routed) Set(_ context.Context, seats []want.Seat) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := len(r.holds)
	r.holds = nil
	for _, seat := range seats {
		r.holds = append(r.holds, seat.RouterID)
	}
	if len(r.holds) < had {
		r.lost++
	}
	return nil
}

func (r *routed) Status() announce.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return announce.Status{Holds: r.holds}
}

func (*routed) Changed() <-chan struct{} { return nil }

// An agent works for an hour of its clock without an API server. It restarts every ten minutes, twice with an empty
// ruleset, as after a restart of the machine. Tables and packets are real: only the clock is the test's.
func TestAnHourWithoutAnAPIServerChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.client.Run("ip", "route", "add", "10.9.1.100/32", "via", "10.9.1.1")
	s.client.Run("ip", "-6", "route", "add", "fd09:1::100/128", "via", "fd09:1::1")
	config := s.config("a")
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	seats := &routed{}
	work := func(t *testing.T, half time.Duration, first *newsText) {
		before, err := keep.Directory(config.State).Load("a", "p")
		if err != nil {
			t.Fatal(err)
		}
		board := balancer.NewBoard()
		if first != nil {
			board.Post(first.news())
		}
		a := balancer.New(balancer.Config{Name: "a", Pool: "p", Keys: language.Keys(), Source: config.Source,
			ReturnPath: config.ReturnPath,
			News:       board, Tables: table.Open(s.a.FD), Seats: seats, State: keep.Directory(config.State), Before: before,
			Addresses: func() ([]announce.Assigned, error) { return nil, nil }, Report: func(*lease.Report) {}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = a.Run(ctx)
		}()
		time.Sleep(half)
		board.Post((&newsText{Missing: true}).news()) // the watches began again, and no list was read
		time.Sleep(half)
		stop()
		<-done
	}
	synctest.Test(t, func(t *testing.T) { work(t, time.Minute, news("a")) })
	s.awaitAnswers()
	before := listed(s.a)
	for restart := range 6 {
		if restart%3 == 1 {
			s.a.Run("nft", "flush", "ruleset")
		}
		synctest.Test(t, func(t *testing.T) { work(t, 5*time.Minute, nil) })
		if after := listed(s.a); after != before {
			t.Fatalf("after restart %d and ten minutes, the tables are\n%s\nand were\n%s", restart, after, before)
		}
		if err := s.answers(); err != nil {
			t.Fatalf("after restart %d and ten minutes: %v", restart, err)
		}
	}
	if seats.lost > 0 || len(seats.Status().Holds) != 1 {
		t.Errorf("seats were taken away %d times, and %v are left", seats.lost, seats.Status().Holds)
	}
}
