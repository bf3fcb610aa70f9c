package webhook

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// state is the process's readiness.
type state struct {
	certificate func() error
	clients     func() error    // nil if clients need no certificate
	remarks     []func() string // faults that leave the process ready
	draining    atomic.Bool
}

// ready returns nil if the process can take reviews. It doesn't check the listener, which is open before the first
// probe can arrive.
func (s *state) ready() error {
	if s.draining.Load() {
		return errors.New("draining: this process is about to end")
	}
	if s.clients != nil {
		if err := s.clients(); err != nil {
			return err
		}
	}
	return s.certificate()
}

// closeIfDraining asks callers to use another process while this one drains. With HTTP/1.1, the connection is closed
// after the answer; with HTTP/2, a GOAWAY frame ends it without losing a request.
func (s *state) closeIfDraining(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// drain shuts the process down without failing an admission:
//
//	SIGTERM ─ not ready any more ─ DrainDelay: new reviews are taken, ─ no new ones; up to DrainTimeout ─ end
//	                               until endpoints are updated          for reviews in progress
func (p *process) drain() {
	p.state.draining.Store(true)
	p.log.Info("draining: reviews are still taken", zap.Duration("for", p.options.DrainDelay))
	p.sleep(p.options.DrainDelay)
	if err := p.admission.shutdown(p.options.DrainTimeout); err != nil {
		p.log.Warn("drained, but cut off reviews in progress; a longer --drain-timeout waits for them",
			zap.Duration("waited", p.options.DrainTimeout), zap.Error(err))
	}
	if err := p.probes.shutdown(time.Second); err != nil {
		p.log.Debug("cut off a probe", zap.Error(err))
	}
	p.log.Info("drained")
}
