package webhook

import (
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The URL paths of probes and metrics.
const (
	HealthPath  = "/healthz"
	ReadyPath   = "/readyz"
	MetricsPath = "/metrics"
)

// probeRoutes serves probes and metrics. The process is healthy if it answers at all, and ready if it can take reviews.
// /readyz also shows why the process isn't ready, and faults that leave the process ready.
func probeRoutes(state *state, registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(HealthPath, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc(ReadyPath, func(w http.ResponseWriter, _ *http.Request) {
		if err := state.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
		for _, remark := range state.remarks {
			if text := remark(); text != "" {
				_, _ = io.WriteString(w, text+"\n")
			}
		}
	})
	mux.Handle(MetricsPath, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}
