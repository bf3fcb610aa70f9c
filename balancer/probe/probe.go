package probe

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"nowake.ai/svc-lb-mux/balancer/lease"
)

const (
	// failures is how many unanswered probes in a row make a backend fail.
	failures = 3
	// parallel is how many connections are opened at once, at most. A round over very many backends that don't answer
	// takes longer than the interval.
	parallel = 128
	timeout  = time.Second
)

// Prober probes backends.
type Prober struct {
	interval time.Duration
	dial     func(ctx context.Context, backend netip.AddrPort) error
	changed  chan struct{}

	mu       sync.Mutex
	backends []netip.AddrPort
	// missed counts the probes in a row that a backend left unanswered. It lacks a backend that answered the last probe,
	// or that was never probed.
	missed map[netip.AddrPort]int
	rounds int
}

// New returns a prober with a pause between two rounds. Run starts it.
func New(interval time.Duration) *Prober {
	return &Prober{interval: interval, dial: dial, changed: make(chan struct{}, 1), missed: map[netip.AddrPort]int{}}
}

func dial(ctx context.Context, backend netip.AddrPort) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", backend.String())
	if err != nil {
		return err
	}
	if tcp, is := connection.(*net.TCPConn); is {
		_ = tcp.SetLinger(0) // so Close sends a reset, and no connection stays in TIME_WAIT
	}
	return connection.Close()
}

// Set replaces the backends. Those that stay keep their results.
func (p *Prober) Set(backends []netip.AddrPort) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backends = backends
	isThere := make(map[netip.AddrPort]bool, len(backends))
	for _, backend := range backends {
		isThere[backend] = true
	}
	for backend := range p.missed {
		if !isThere[backend] {
			delete(p.missed, backend)
		}
	}
}

// Results returns which backends fail. The results are settled once enough rounds are over for a backend to fail.
func (p *Prober) Results() *lease.Probes {
	p.mu.Lock()
	defer p.mu.Unlock()
	results := &lease.Probes{Settled: p.rounds >= failures}
	for backend, missed := range p.missed {
		if missed >= failures {
			results.Failing = append(results.Failing, backend)
		}
	}
	slices.SortFunc(results.Failing, netip.AddrPort.Compare)
	return results
}

// Changed is readable after the results changed.
func (p *Prober) Changed() <-chan struct{} { return p.changed }

// Run probes until the context ends.
func (p *Prober) Run(ctx context.Context) {
	tick := time.NewTicker(p.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.round(ctx)
		}
	}
}

// round probes each backend once.
func (p *Prober) round(ctx context.Context) {
	p.mu.Lock()
	backends := p.backends
	p.mu.Unlock()
	if len(backends) == 0 {
		return // there is no news yet, or no backend: the round doesn't count
	}
	before := p.Results()
	var probes sync.WaitGroup
	free := make(chan struct{}, parallel)
	for _, backend := range backends {
		free <- struct{}{}
		probes.Go(func() {
			defer func() { <-free }()
			within, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			err := p.dial(within, backend)
			if ctx.Err() == nil {
				p.note(backend, err == nil)
			}
		})
	}
	probes.Wait()
	p.mu.Lock()
	p.rounds++
	p.mu.Unlock()
	if after := p.Results(); after.Settled != before.Settled || !slices.Equal(after.Failing, before.Failing) {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

func (p *Prober) note(backend netip.AddrPort, answers bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if answers {
		delete(p.missed, backend)
		return
	}
	p.missed[backend]++
}
