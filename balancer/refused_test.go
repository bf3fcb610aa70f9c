package balancer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/balancer"
	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/keep"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/validation"
)

// fakeKernel refuses transactions for a reason of the test, and records what happens.
type fakeKernel struct {
	mu           sync.Mutex
	refuses      func(*want.Tables) error
	tables       *want.Tables
	transactions int
	broken       bool
	seats        []want.Seat
	failingSets  int // how many settings of seats fail from now on
	// exposed are addresses that were on the interface without an element in the tables.
	exposed []netip.Addr
	changed chan struct{}
}

func newFakeKernel() *fakeKernel {
	return &fakeKernel{tables: &want.Tables{}, changed: make(chan struct{}, 1), refuses: func(*want.Tables) error {
		return nil
	}}
}

func (k *fakeKernel) Apply(t *want.Tables) (table.Applied, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.transactions++
	if err := k.refuses(t); err != nil {
		return table.Applied{}, err
	}
	k.tables = t
	k.look()
	return table.Applied{}, nil
}

func (k *fakeKernel) look() {
	for _, s := range k.seats {
		for _, a := range s.Addresses {
			if !slices.ContainsFunc(k.tables.Addresses, func(x want.Address) bool { return x.Address == a }) {
				k.exposed = append(k.exposed, a)
			}
		}
	}
}

func (k *fakeKernel) Set(_ context.Context, seats []want.Seat) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failingSets > 0 {
		k.failingSets--
		return errors.New("no buffer")
	}
	k.seats = seats
	k.look()
	return nil
}

func (k *fakeKernel) Intact() (bool, error)          { return !k.broken, nil }
func (k *fakeKernel) Generation() (uint32, error)    { return 1, nil }
func (k *fakeKernel) Forget()                        {}
func (k *fakeKernel) Status() announce.Status        { return announce.Status{} }
func (k *fakeKernel) Changed() <-chan struct{}       { return k.changed }
func (k *fakeKernel) held() []want.Seat              { k.mu.Lock(); defer k.mu.Unlock(); return k.seats }
func (k *fakeKernel) count() int                     { k.mu.Lock(); defer k.mu.Unlock(); return k.transactions }
func (k *fakeKernel) set(f func(*want.Tables) error) { k.mu.Lock(); defer k.mu.Unlock(); k.refuses = f }

func (k *fakeKernel) current() *want.Tables {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tables
}

// refusal is an error like the kernel's.
func refusal(what string) error {
	return fmt.Errorf("%w: %w (%s)", table.ErrRefused, unix.EEXIST, what)
}

// refusing refuses transactions with a service on one of the ports.
func refusing(ports ...uint16) func(*want.Tables) error {
	return func(t *want.Tables) error {
		for _, s := range t.Services {
			if slices.Contains(ports, s.First) {
				return refusal(fmt.Sprint(s.First))
			}
		}
		return nil
	}
}

// world is news with these muxes on gateway a. In the order of names, mux i has the address 10.9.1.<100+i>, i from 0
// on, and its ports.
func world(t testing.TB, ports map[string][]uint16) balancer.News {
	t.Helper()
	var n balancer.News
	c := claims.Claims{Pool: "p", Seats: []claims.Seat{{RouterID: 7, Order: []string{"a"}}},
		Gateways: []claims.Gateway{{Name: "a"}}}
	for i, name := range slices.Sorted(maps.Keys(ports)) {
		key := types.NamespacedName{Namespace: "edge", Name: name}
		c = c.Hold(claims.Mux{Key: key, UID: types.UID(name), Seat: 7,
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 9, 1, byte(100 + i)})}})
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: name, UID: types.UID(name)}}
		for _, number := range ports[name] {
			svc.Spec.Ports = append(svc.Spec.Ports,
				corev1.ServicePort{Name: fmt.Sprint("p-", number), Port: int32(number), Protocol: corev1.ProtocolTCP})
		}
		n.Muxes.Items = append(n.Muxes.Items, svc)
	}
	n.Claims, n.Muxes.IsRead, n.Slices.IsRead = &c, true, true
	return n
}

// run runs an agent on a fake kernel. The result returns its last report.
func run(t testing.TB, k *fakeKernel, board *balancer.Board) func() *lease.Report {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var last *lease.Report
	a := balancer.New(balancer.Config{Name: "a", Pool: "p", Keys: language.Keys(), ReturnPath: want.ViaRouted, News: board,
		Tables: k, Seats: k,
		State: keep.Directory(t.TempDir()), Addresses: func() ([]announce.Assigned, error) { return nil, nil },
		Log: zap.NewNop().Sugar(), Report: func(r *lease.Report) { mu.Lock(); defer mu.Unlock(); last = r }})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = a.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return func() *lease.Report { mu.Lock(); defer mu.Unlock(); return last }
}

func TestARefusedPortHarmsOnlyItself(t *testing.T) {
	k, board := newFakeKernel(), balancer.NewBoard()
	k.refuses = refusing(2001)
	board.Post(world(t, map[string][]uint16{"m1": {1000, 1001}, "m2": {2000, 2001}, "m3": {3000}}))
	report := run(t, k, board)
	eventually(t, "the refusal is reported", func() bool {
		m2, _ := report().Find("m2")
		return len(m2.Refused) == 1
	})
	m2, _ := report().Find("m2")
	if r := m2.Refused[0]; r.Port != "p-2001" || r.Reason != balancer.KernelRefused ||
		!strings.Contains(r.Message, "port 2001/TCP of 10.9.1.101") {
		t.Errorf("refused %+v", r)
	}
	if len(m2.Programmed) > 0 {
		t.Errorf("a mux with a refused port counts as programmed: %v", m2.Programmed)
	}
	for _, other := range []types.UID{"m1", "m3"} {
		if m, _ := report().Find(other); len(m.Programmed) != 1 || len(m.Refused) > 0 {
			t.Errorf("mux %s: %+v", other, m)
		}
	}
	if got := numbers(k.current()); !slices.Equal(got, []uint16{1000, 1001, 2000, 3000}) {
		t.Errorf("the kernel has ports %v", got)
	}
	// A refused port isn't tried again with each change of others.
	before := k.count()
	board.Post(world(t, map[string][]uint16{"m1": {1000, 1001, 1002}, "m2": {2000, 2001}, "m3": {3000}}))
	eventually(t, "the new port is there", func() bool { return slices.Contains(numbers(k.current()), 1002) })
	if more := k.count() - before; more > 2 {
		t.Errorf("%d transactions for one change", more)
	}
	// A mux that is put right is programmed at once.
	board.Post(world(t, map[string][]uint16{"m1": {1000, 1001, 1002}, "m2": {2000}, "m3": {3000}}))
	eventually(t, "mux m2 is programmed", func() bool {
		m, _ := report().Find("m2")
		return len(m.Programmed) == 1 && len(m.Refused) == 0
	})
}

func numbers(t *want.Tables) []uint16 {
	var all []uint16
	for _, s := range t.Services {
		all = append(all, s.First)
	}
	return all
}

// An address without tables would let the machine's own services answer on it.
func TestNoAddressIsOnTheInterfaceWithoutItsTables(t *testing.T) {
	k, board := newFakeKernel(), balancer.NewBoard()
	refused := netip.MustParseAddr("10.9.1.101")
	k.refuses = func(t *want.Tables) error {
		if slices.ContainsFunc(t.Addresses, func(a want.Address) bool { return a.Address == refused }) {
			return refusal("address")
		}
		return nil
	}
	board.Post(world(t, map[string][]uint16{"m1": {1000}, "m2": {2000}, "m3": {3000}}))
	report := run(t, k, board)
	eventually(t, "the other muxes are programmed", func() bool {
		m, _ := report().Find("m3")
		return len(m.Programmed) == 1
	})
	if seats := k.held(); len(seats) != 1 || len(seats[0].Addresses) != 2 || slices.Contains(seats[0].Addresses, refused) {
		t.Errorf("seats %+v", seats)
	}
	k.set(func(*want.Tables) error { return nil })
	less := world(t, map[string][]uint16{"m1": {1000}})
	less.Muxes.Items = append(less.Muxes.Items,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "other"}})
	board.Post(less)
	eventually(t, "one address is left", func() bool {
		seats := k.held()
		return len(seats) == 1 && len(seats[0].Addresses) == 1
	})
	if len(k.exposed) > 0 {
		t.Errorf("on the interface without tables: %v", k.exposed)
	}
}

func TestTablesStayUntilTheAddressIsOffTheInterface(t *testing.T) {
	k, board := newFakeKernel(), balancer.NewBoard()
	board.Post(world(t, map[string][]uint16{"m1": {1000}, "m2": {2000}}))
	run(t, k, board)
	eventually(t, "both addresses are there", func() bool {
		seats := k.held()
		return len(seats) == 1 && len(seats[0].Addresses) == 2
	})
	k.mu.Lock()
	k.failingSets = 1
	k.mu.Unlock()
	less := world(t, map[string][]uint16{"m1": {1000}})
	less.Muxes.Items = append(less.Muxes.Items,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "other"}})
	board.Post(less)
	eventually(t, "one address is left", func() bool {
		return len(k.held()[0].Addresses) == 1 && len(k.current().Addresses) == 1
	})
	if len(k.exposed) > 0 {
		t.Errorf("on the interface without tables: %v", k.exposed)
	}
}

func TestSeatsAreGivenUpOnlyIfTheTablesAreGone(t *testing.T) {
	for name, test := range map[string]struct {
		broken bool
		seats  int
	}{"the tables from before are intact": {false, 1}, "the tables are gone": {true, 0}} {
		t.Run(name, func(t *testing.T) {
			k, board := newFakeKernel(), balancer.NewBoard()
			board.Post(world(t, map[string][]uint16{"m1": {1000}}))
			report := run(t, k, board)
			eventually(t, "the seat is there", func() bool { return len(k.held()) == 1 })
			k.set(func(*want.Tables) error { return fmt.Errorf("%w: %w", table.ErrRefused, unix.EPERM) })
			k.mu.Lock()
			k.broken = test.broken
			k.mu.Unlock()
			board.Post(world(t, map[string][]uint16{"m1": {1000, 1001}}))
			eventually(t, "the fault is reported", func() bool {
				return slices.ContainsFunc(report().Faults, func(f lease.Refusal) bool { return f.Reason == balancer.TablesFailed })
			})
			if got := len(k.held()); got != test.seats {
				t.Errorf("%d seats, want %d", got, test.seats)
			}
		})
	}
}

// All parts that the kernel doesn't refuse are in force, and refused parts are as they were.
func TestSplittingAppliesEverythingThatIsNotRefused(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(label string) map[string][]uint16 {
			ports := map[string][]uint16{}
			for i, mux := range []string{"m1", "m2", "m3", "m4"} {
				numbers := rapid.SliceOfDistinct(rapid.Uint16Range(1, 6), rapid.ID).Draw(rt, label+mux)
				for _, n := range numbers {
					ports[mux] = append(ports[mux], uint16(1000*(i+1))+n)
				}
				slices.Sort(ports[mux])
				if ports[mux] == nil {
					ports[mux] = []uint16{}
				}
			}
			return ports
		}
		bad := rapid.SliceOfDistinct(rapid.Uint16Range(1001, 4006), rapid.ID).Draw(rt, "bad")
		now := draw("now")
		k, board := newFakeKernel(), balancer.NewBoard()
		k.refuses = refusing(bad...)
		board.Post(world(t, now))
		report := runOnce(t, k, board)
		var expected []uint16
		refusedPorts := 0
		for _, mux := range slices.Sorted(maps.Keys(now)) {
			for _, n := range now[mux] {
				if slices.Contains(bad, n) {
					refusedPorts++
				} else {
					expected = append(expected, n)
				}
			}
		}
		if diff := cmp.Diff(expected, numbers(k.current())); diff != "" {
			rt.Errorf("(-want +got):\n%s", diff)
		}
		told := 0
		for _, m := range report.Muxes {
			told += len(m.Refused)
		}
		if told != refusedPorts {
			rt.Errorf("%d refusals reported, want %d", told, refusedPorts)
		}
	})
}

// runOnce runs one pass.
func runOnce(t testing.TB, k *fakeKernel, board *balancer.Board) *lease.Report {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	var last *lease.Report
	a := balancer.New(balancer.Config{Name: "a", Pool: "p", Keys: language.Keys(), ReturnPath: want.ViaRouted, News: board,
		Tables: k, Seats: k,
		State: keep.Directory(t.TempDir()), Addresses: func() ([]announce.Assigned, error) { return nil, nil },
		Report: func(r *lease.Report) { last = r; cancel(errors.New("one pass is enough")) }})
	_ = a.Run(ctx)
	return last
}
