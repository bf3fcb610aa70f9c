package run

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// probeServer serves probes and metrics from the start, even while the API server is down and while this process
// doesn't lead. Otherwise, the kubelet would restart a process that waits for the API server.
func probeServer(listener net.Listener, handler http.Handler) *manager.Server {
	patience := time.Second
	return &manager.Server{
		Name: "probes and metrics", Listener: listener, ShutdownTimeout: &patience,
		Server: &http.Server{
			Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
			WriteTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10,
		},
	}
}

// routes serves probes and metrics. A process is healthy if it answers. It is ready if its caches are filled, so that
// it could lead, and if the other checks pass. Readiness doesn't depend on who leads.
func routes(m manager.Manager, terms *terms, others []func() error, registry *prometheus.Registry) http.Handler {
	paths := http.NewServeMux()
	paths.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	paths.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		within, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !m.GetCache().WaitForCacheSync(within) {
			http.Error(w, "the cache isn't filled yet: is the API server there, and may we list Services, EndpointSlices "+
				"and ConfigMaps?", http.StatusServiceUnavailable)
			return
		}
		for _, ready := range others {
			if err := ready(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	paths.HandleFunc("/leaderz", func(w http.ResponseWriter, _ *http.Request) {
		if !terms.leads.Load() {
			http.Error(w, "waits to lead", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "leads\n")
	})
	all := prometheus.Gatherers{registry, terms, crmetrics.Registry}
	paths.Handle("/metrics", promhttp.HandlerFor(all, promhttp.HandlerOpts{}))
	return paths
}
