package process

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serve serves probes and metrics. The agent is healthy while its loop goes round, also without an API server, and ready once the kernel
// holds the wanted tables.
func (p *parts) serve() (io.Closer, error) {
	if p.options.ProbeAddress == "" {
		return io.NopCloser(nil), nil
	}
	paths := http.NewServeMux()
	paths.HandleFunc("/healthz", answer(p.agent.IsAlive, "the loop hangs"))
	paths.HandleFunc("/readyz", answer(p.agent.IsReady, "the kernel doesn't hold yet what is wanted"))
	paths.Handle("/metrics", promhttp.HandlerFor(p.metrics.Registry, promhttp.HandlerOpts{}))
	listener, err := net.Listen("tcp", p.options.ProbeAddress)
	if err != nil {
		return nil, fmt.Errorf("--probe-address: %w", err)
	}
	server := &http.Server{Handler: paths, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		MaxHeaderBytes: 64 << 10}
	go func() { _ = server.Serve(listener) }()
	return server, nil
}

func answer(isGood func() bool, otherwise string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if !isGood() {
			http.Error(w, otherwise, http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	}
}
