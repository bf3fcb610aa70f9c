package reconciler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// probeServer serves probes and metrics, whether its process leads or waits to.
type probeServer struct {
	listener net.Listener
	manager  manager.Manager
	registry *prometheus.Registry
}

// NeedLeaderElection is false: whoever waits is alive too.
func (*probeServer) NeedLeaderElection() bool { return false }

// Start serves until the context ends.
func (s *probeServer) Start(ctx context.Context) error {
	server := &http.Server{
		Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", s.listener.Addr(), err)
	}
	return nil
}

// routes: alive is whoever answers; ready is who knows the cluster, so that it could lead.
func (s *probeServer) routes() http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	routes.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		within, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !s.manager.GetCache().WaitForCacheSync(within) {
			http.Error(w, "the cache isn't filled yet: is the API server there, and may we list Services, EndpointSlices "+
				"and ConfigMaps?", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	routes.HandleFunc("/leaderz", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-s.manager.Elected():
			_, _ = io.WriteString(w, "leads\n")
		default:
			http.Error(w, "waits to lead", http.StatusServiceUnavailable)
		}
	})
	all := prometheus.Gatherers{s.registry, crmetrics.Registry}
	routes.Handle("/metrics", promhttp.HandlerFor(all, promhttp.HandlerOpts{}))
	return routes
}
