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
	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// page has the files that the browser gets.
//
//go:embed page
var page embed.FS

// Console serves the page and sends changes.
type Console struct {
	hub     *hub
	server  *server
	handler http.Handler
}

// server answers requests.
type server struct {
	*Options
	hub      *hub
	throttle *throttle
	reviews  *reviews // nil if Token is compared instead
	metrics  metrics
	tries    chan struct{} // the connection attempts that run
	tryRate  *rate.Limiter
	gateways gateways
	// pause delays the answer to a wrong token.
	pause func(ctx context.Context, span time.Duration)
}

type metrics struct {
	refused *prometheus.CounterVec
	streams prometheus.Gauge
}

// New makes a console. Add starts it.
func New(options Options) *Console {
	m := metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_lb_mux_console_refused_total", Help: "Requests that the console refused, by reason.",
		}, []string{"reason"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "svc_lb_mux_console_streams",
			Help: "Open pages of the console."}),
	}
	options.Metrics.MustRegister(m.refused, m.streams)
	if options.Dial == nil {
		options.Dial = (&net.Dialer{}).DialContext
	}
	h := newHub(&options)
	s := &server{Options: &options, hub: h, throttle: newThrottle(), reviews: newReviews(options.Review, options.Now),
		metrics: m, pause: pause,
		tries: make(chan struct{}, maxConcurrentTries), tryRate: rate.NewLimiter(rate.Every(tryPause), triesInARow)}
	return &Console{hub: h, server: s, handler: s.routes()}
}

// Add makes a manager run the console on a listener, with TLS if a certificate is given.
func (c *Console) Add(m manager.Manager, listener net.Listener,
	certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) error {
	if certificate != nil {
		listener = tls.NewListener(listener,
			&tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate, NextProtos: []string{"http/1.1"}})
	}
	if err := m.Add(c.hub); err != nil {
		return err
	}
	shutdownTimeout := time.Second
	server := &http.Server{
		Handler: c.handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		WriteTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // errors of single connections aren't logged; metrics count refused requests
	}
	server.RegisterOnShutdown(c.hub.closeStreams) // or the shutdown would wait for them
	return m.Add(&manager.Server{Name: "console", Server: server, Listener: listener, ShutdownTimeout: &shutdownTimeout})
}

func (s *server) routes() http.Handler {
	guarded := http.NewServeMux()
	guarded.HandleFunc("GET /api/state", s.state)
	guarded.HandleFunc("GET /api/topology", s.topology)
	guarded.HandleFunc("GET /api/traffic", s.traffic)
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
	all.Handle("/", s.logRequests(s.admit(guarded)))
	return protect(all)
}

func refuseActions(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "this console is read-only: DEBUG_WEB_ACTIONS_ENABLED=true allows actions", http.StatusForbidden)
}

// files serves the page's files. Their content types depend only on the extensions, not on the machine's MIME tables.
func files() http.Handler {
	root, err := fs.Sub(page, "page")
	if err != nil { // can't fail: the name is valid
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
