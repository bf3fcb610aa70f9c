package probe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// network says which backends are dead.
type network struct {
	mu   sync.Mutex
	dead map[netip.AddrPort]bool
}

func (n *network) set(backend netip.AddrPort, dead bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead[backend] = dead
}

// dial lets a dead backend's connection time out.
func (n *network) dial(ctx context.Context, backend netip.AddrPort) error {
	n.mu.Lock()
	dead := n.dead[backend]
	n.mu.Unlock()
	if dead {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func backendAt(number byte) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, 0, number}), 8080)
}

// TestBackendFailsAfterThreeProbesAndComesBackAfterOne runs on a fake clock, and so takes no time.
func TestBackendFailsAfterThreeProbesAndComesBackAfterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{dead: map[netip.AddrPort]bool{backendAt(2): true}}
		p := New(2 * time.Second)
		p.dial = n.dial
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go p.Run(ctx)
		check := func(when string, after time.Duration, settled bool, failing ...netip.AddrPort) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := p.Results(); got.Settled != settled || !slices.Equal(got.Failing, failing) {
				t.Errorf("%s: %+v", when, got)
			}
		}
		check("before any news", time.Minute, false)
		p.Set([]netip.AddrPort{backendAt(1), backendAt(2)})
		check("after two rounds", 5500*time.Millisecond, false)
		check("after three rounds", 2*time.Second, true, backendAt(2))
		<-p.Changed()
		n.set(backendAt(2), false)
		check("after an answer", 2*time.Second, true)
		<-p.Changed()
		n.set(backendAt(1), true)
		check("after two losses", 4*time.Second, true)
		n.set(backendAt(1), false)
		check("after two losses and an answer", 2*time.Second, true)
		n.set(backendAt(1), true)
		check("after three losses", 7*time.Second, true, backendAt(1))
		p.Set([]netip.AddrPort{backendAt(2)})
		check("without the backend", 0, true)
		p.Set([]netip.AddrPort{backendAt(1), backendAt(2)})
		check("with it again", 3*time.Second, true)
		stop()
		synctest.Wait()
	})
}

// TestOnlyAConnectionIsAnAnswer dials real sockets.
func TestOnlyAConnectionIsAnAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's own
	if err != nil {
		t.Fatal(err)
	}
	backend := netip.MustParseAddrPort(listener.Addr().String())
	if err := dial(t.Context(), backend); err != nil {
		t.Errorf("it listens: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dial(t.Context(), backend); err == nil {
		t.Error("nothing listens, and the probe counts as answered")
	}
}

// TestManyDeadBackendsDontHoldTheOthersUp: 1,000 of them take eight seconds for each round.
func TestManyDeadBackendsDontHoldTheOthersUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var backends []netip.AddrPort
		for i := range 1000 {
			backends = append(backends, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 8080))
		}
		open, most, mu := 0, 0, sync.Mutex{}
		p := New(2 * time.Second)
		p.dial = func(ctx context.Context, _ netip.AddrPort) error {
			mu.Lock()
			open++
			most = max(most, open)
			mu.Unlock()
			<-ctx.Done()
			mu.Lock()
			open--
			mu.Unlock()
			return errors.New("no answer")
		}
		p.Set(backends)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go p.Run(ctx)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := len(p.Results().Failing); got != len(backends) || most > parallel {
			t.Errorf("%d backends fail, %d connections at once", got, most)
		}
		stop()
		synctest.Wait()
	})
}
