package console

import (
	"context"
	"crypto/tls"
	"embed"
	"io"
	"io/fs"
	"log"
	"mime"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// page is everything that the browser gets.
//
//go:embed page
var page embed.FS

// Console serves, and tells.
type Console struct {
	hub     *hub
	server  *server
	handler http.Handler
}

// server is what answers requests.
type server struct {
	*Options
	hub      *hub
	throttle *throttle
	reviews  *reviews // nil where Token is compared
	metrics  metrics
	tries    chan struct{}
	// pause delays the answer to a wrong token.
	pause func(ctx context.Context, span time.Duration)
}

type metrics struct {
	refused *prometheus.CounterVec
	streams prometheus.Gauge
}

// New makes a console that serves nothing yet.
func New(options Options) *Console {
	m := metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_lb_mux_console_refused_total", Help: "Requests that the console refused, by what for.",
		}, []string{"reason"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "svc_lb_mux_console_streams", Help: "Pages of the console that are open."}),
	}
	options.Metrics.MustRegister(m.refused, m.streams)
	if options.Dial == nil {
		options.Dial = (&net.Dialer{}).DialContext
	}
	h := newHub(&options)
	s := &server{Options: &options, hub: h, throttle: newThrottle(), reviews: newReviews(options.Review, options.Now), metrics: m, tries: make(chan struct{}, triesAtOnce), pause: pause}
	return &Console{hub: h, server: s, handler: s.routes()}
}

// Add has a manager run the console on a listener, over TLS if a certificate is given.
func (c *Console) Add(m manager.Manager, listener net.Listener, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) error {
	if certificate != nil {
		listener = tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate, NextProtos: []string{"http/1.1"}})
	}
	if err := m.Add(c.hub); err != nil {
		return err
	}
	patience := time.Second
	server := &http.Server{
		Handler: c.handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		WriteTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // what strangers do to a connection is told by metrics, if it gets as far as a request
	}
	server.RegisterOnShutdown(c.hub.dismiss) // streams would be waited for
	return m.Add(&manager.Server{Name: "console", Server: server, Listener: listener, ShutdownTimeout: &patience})
}

func (s *server) routes() http.Handler {
	guarded := http.NewServeMux()
	guarded.HandleFunc("GET /api/state", s.state)
	guarded.HandleFunc("GET /api/topology", s.topology)
	guarded.HandleFunc("GET /api/config", s.config)
	guarded.HandleFunc("GET /api/why", s.why)
	guarded.HandleFunc("GET /api/stream", s.stream)
	act := s.testTCP
	if !s.Actions {
		act = refuseActions
	}
	guarded.HandleFunc("POST /api/test-tcp", act)
	guarded.Handle("GET /", files())

	all := http.NewServeMux()
	all.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	all.Handle("/", s.logged(s.admit(guarded)))
	return protect(all)
}

func refuseActions(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "this console only shows: DEBUG_WEB_ACTIONS_ENABLED=true allows actions", http.StatusForbidden)
}

// files are the page's. What they are is told by their names alone, whatever this machine thinks of those.
func files() http.Handler {
	root, err := fs.Sub(page, "page")
	if err != nil { // the name is good
		return http.NotFoundHandler()
	}
	kinds := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml",
	}
	serve := http.FileServerFS(root)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
		if name == "" {
			name = "index.html"
		}
		info, err := fs.Stat(root, name)
		if err != nil || info.IsDir() {
			http.Error(w, "there is no such page", http.StatusNotFound)
			return
		}
		kind := kinds[path.Ext(name)]
		if kind == "" {
			kind = mime.TypeByExtension(path.Ext(name))
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		serve.ServeHTTP(w, r)
	})
}
