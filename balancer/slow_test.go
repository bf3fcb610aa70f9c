package balancer_test

import (
	"context"
	"sync/atomic"
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

// slowTables take minutes for each transaction, as a kernel may that another process keeps busy.
type slowTables struct{ applied atomic.Int32 }

func (s *slowTables) Apply(*want.Tables) (table.Applied, error) {
	time.Sleep(3 * time.Minute)
	s.applied.Add(1)
	return table.Applied{Added: 1}, nil
}

func (*slowTables) Intact() (bool, error)       { return true, nil }
func (*slowTables) Generation() (uint32, error) { return 1, nil }
func (*slowTables) Forget()                     {}

// A transaction of minutes doesn't end the agent, and before the first one is in force the machine takes no seat.
func TestALongTransactionEndsNoAgentAndTakesNoSeat(t *testing.T) {
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		tables, seats, board := &slowTables{}, &routed{}, balancer.NewBoard()
		board.Post(news("a").news())
		a := balancer.New(balancer.Config{Name: "a", Pool: "p", Keys: language.Keys(), ReturnPath: want.ViaRouted,
			News:   board,
			Tables: tables,
			Seats:  seats, State: keep.Directory(t.TempDir()), Report: func(*lease.Report) {},
			Addresses: func() ([]announce.Assigned, error) { return nil, nil }})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = a.Run(ctx)
		}()
		for range 40 {
			time.Sleep(15 * time.Second)
			if !a.IsAlive() {
				t.Fatal("a probe ends the agent in the middle of a transaction")
			}
			if holds := seats.Status().Holds; len(holds) > 0 && tables.applied.Load() == 0 {
				t.Fatalf("before its tables are in force, the machine takes the seats %v", holds)
			}
		}
		if applied := tables.applied.Load(); applied < 3 || len(seats.Status().Holds) != 1 {
			t.Fatalf("after %d transactions, the machine holds %v", applied, seats.Status().Holds)
		}
		stop()
		<-done
	})
}
