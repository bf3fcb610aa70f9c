package process

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serve serves probes and metrics. The agent is healthy while its loop goes round, also without an API server, and
// ready once the kernel holds the wanted tables.
func (p *parts) serve() (io.Closer, error) {
	return serveProbes(p.options.ProbeAddress, p.agent.IsAlive, p.agent.IsReady,
		"the kernel doesn't hold yet what is wanted",
		promhttp.HandlerFor(p.metrics.Registry, promhttp.HandlerOpts{}))
}

// serveProbes serves nothing if the address is empty. Until isReady is true, /readyz says why.
func serveProbes(address string, isAlive, isReady func() bool, why string, metrics http.Handler) (io.Closer, error) {
	if address == "" {
		return io.NopCloser(nil), nil
	}
	paths := http.NewServeMux()
	paths.HandleFunc("/healthz", answer(isAlive, "the loop hangs"))
	paths.HandleFunc("/readyz", answer(isReady, why))
	paths.Handle("/metrics", metrics)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--probe-address: %w", err)
	}
	server := &http.Server{Handler: paths, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout:   30 * time.Second,
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
