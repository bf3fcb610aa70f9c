package balancer

import (
	"context"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/flows"
	"nowake.ai/svc-lb-mux/balancer/keep"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/validation"
)

// Tables are the kernel's tables. *table.Kernel is the real one.
type Tables interface {
	Apply(tables *want.Tables) (table.Applied, error)
	Intact() (bool, error)
	Generation() (uint32, error)
	Forget()
}

// Seats answer for addresses. *announce.Announcer is the real one.
type Seats interface {
	Set(ctx context.Context, seats []want.Seat) error
	Status() announce.Status
	Changed() <-chan struct{}
}

// Prober finds backends that don't answer. *probe.Prober is the real one.
type Prober interface {
	Set(backends []netip.AddrPort)
	Results() *lease.Probes
	Changed() <-chan struct{}
}

// Config is what an Agent is made of.
type Config struct {
	Name string
	Pool string
	Keys validation.Keys
	// Source are the addresses that backends see with the return path node. Without any, backends see the address of the
	// interface through which packets leave.
	Source          []netip.Addr
	ReturnPath      want.ReturnPath
	BackendNetworks []netip.Prefix
	Node            string

	News   Source
	Tables Tables
	Seats  Seats
	State  keep.Directory
	// Before is the state that was saved before a restart; nil without such a state.
	Before *keep.State
	// Prober is nil if backends aren't probed.
	Prober Prober
	// Addresses returns the machine's addresses.
	Addresses func() ([]announce.Assigned, error)
	// DropFlows ends UDP flows to backends that are gone; nil in tests without a kernel.
	DropFlows func(gone []flows.Gone) (int, error)
	// Check returns faults of the machine's settings.
	Check func() []lease.Refusal
	// Report takes each new report.
	Report  func(*lease.Report)
	Metrics *Metrics
	Log     *zap.SugaredLogger
}

const (
	// startPatience is how long a start waits for news before it uses the saved state, which may be hours old.
	startPatience = 2 * time.Second
	// settle is how long the agent waits for more news before it starts a pass.
	settle      = 2 * time.Millisecond
	guardEvery  = 250 * time.Millisecond
	repeatEvery = 10 * time.Second
	// livenessAfter is how long one turn of the loop may take, without the time of its transactions.
	livenessAfter = time.Minute
)

// GCPercent is GOGC of an agent's process. An agent rests most of the time, so it spends processor time to need less
// memory.
const GCPercent = 50

// Agent runs one gateway.
type Agent struct {
	Config
	// before is what the last decision wanted, also one before a restart.
	before *want.Wanted
	// applied are the tables in the kernel; nil if they aren't known.
	applied *want.Tables
	// gone are backends whose UDP flows must still be ended.
	gone []flows.Gone
	// refused are the parts that the kernel refused.
	refused map[unit]refusal
	// seats are those that were set last.
	seats   []want.Seat
	seatSet bool
	guard   guard
	saver   saver
	// known are the mux addresses that this gateway has carried. On old kernels, which keep no marks, only known tells mux
	// addresses from the machine's own.
	known    map[netip.Addr]bool
	faults   []lease.Refusal // of the machine's settings
	failure  string          // of the last pass, for the whole machine
	decision want.Decision
	news     News
	told     *lease.Report

	lastLoop atomic.Int64
	// inKernel is true while the kernel works on a transaction.
	inKernel atomic.Bool
	ready    atomic.Bool
}

// New returns an agent. Run starts it.
func New(c Config) *Agent {
	if c.Log == nil {
		c.Log = zap.NewNop().Sugar()
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	a := &Agent{Config: c, refused: map[unit]refusal{}, known: map[netip.Addr]bool{}, saver: newSaver(c.State, c.Log)}
	if c.Before != nil {
		a.before, a.applied = c.Before.Wanted, c.Before.Applied()
		for _, address := range a.before.Tables.Addresses {
			a.known[address.Address] = true
		}
	}
	return a
}

// Run keeps the kernel as the news want it, until the context ends. The tables stay after that.
func (a *Agent) Run(ctx context.Context) error {
	defer a.saver.finish()
	guardTick, repeatTick := time.NewTicker(guardEvery), time.NewTicker(repeatEvery)
	defer guardTick.Stop()
	defer repeatTick.Stop()
	a.checkMachine()
	var probed <-chan struct{}
	if a.Prober != nil {
		probed = a.Prober.Changed()
	}
	a.awaitNews(ctx)
	a.pass(ctx)
	for {
		a.lastLoop.Store(time.Now().UnixNano())
		select {
		case <-ctx.Done():
			return nil
		case <-a.News.Changed():
			time.Sleep(settle)
			a.pass(ctx)
		case <-a.Seats.Changed():
			a.report()
		case <-probed:
			a.report()
		case <-guardTick.C:
			if a.disturbed() || a.failure != "" && a.guard.mayRetry() {
				a.pass(ctx)
			}
		case <-repeatTick.C:
			a.checkMachine()
			a.pass(ctx)
		}
	}
}

// awaitNews waits until the first news is complete, but not longer than startPatience.
func (a *Agent) awaitNews(ctx context.Context) {
	patience := time.NewTimer(startPatience)
	defer patience.Stop()
	for {
		if w, _ := a.observe(); len(want.Decide(w).Unread) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-patience.C:
			return
		case <-a.News.Changed():
		}
	}
}

func (a *Agent) checkMachine() {
	if a.Check == nil {
		return
	}
	faults := a.Check()
	for _, fault := range faults {
		if !slices.Contains(a.faults, fault) {
			a.Log.Warnw("This machine has a fault", "reason", fault.Reason, "message", fault.Message)
		}
	}
	a.faults = faults
}

// IsAlive is false if the loop hangs. A transaction may take long: the kernel works on it, or on one of another
// process. A restart doesn't help then: the kernel goes on, and the new agent starts the same work again. All agents of
// the pool would restart at once.
func (a *Agent) IsAlive() bool {
	last := a.lastLoop.Load()
	return a.inKernel.Load() || last == 0 || time.Since(time.Unix(0, last)) < livenessAfter
}

// IsReady is true once a pass has brought the kernel's tables and the seats up to date, until a pass fails. Parts that
// the kernel refuses don't count as a failure.
func (a *Agent) IsReady() bool { return a.ready.Load() }
