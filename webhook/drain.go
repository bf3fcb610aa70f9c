package webhook

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// state is what a process says about its readiness.
type state struct {
	certificate func() error
	clients     func() error    // nil where clients need no certificate
	remarks     []func() string // what is wrong though the process is ready
	draining    atomic.Bool
}

// ready is nil if reviews can come. Its listener has been open since before anybody could ask.
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

// leaving asks callers, while draining, to take their next review to another process: with HTTP/1.1 the connection
// is closed after the answer, with HTTP/2 it is said goodbye to in a way that loses no request.
func (s *state) leaving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// drain ends the process so that no admission fails by it:
//
//	SIGTERM ─ not ready any more ─ DrainDelay: reviews are still taken, ─ no new ones, up to DrainTimeout ─ end
//	                               endpoints take that time to go         for those under way
func (p *process) drain() {
	p.state.draining.Store(true)
	p.log.Info("draining: reviews are still taken", zap.Duration("for", p.options.DrainDelay))
	p.sleep(p.options.DrainDelay)
	if err := p.admission.shutdown(p.options.DrainTimeout); err != nil {
		p.log.Warn("drained, but cut off reviews that were still under way; a longer --drain-timeout waits for them",
			zap.Duration("waited", p.options.DrainTimeout), zap.Error(err))
	}
	if err := p.probes.shutdown(time.Second); err != nil {
		p.log.Debug("cut off a probe", zap.Error(err))
	}
	p.log.Info("drained")
}
