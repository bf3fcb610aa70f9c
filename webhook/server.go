package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"

	"nowake.ai/svc-lb-mux/certs"
)

const (
	// headerTimeout and bodyTimeout are more than an API server waits for (30 s at most, 5 s as the chart sets it);
	// they end what nobody waits for any more.
	headerTimeout = 5 * time.Second
	bodyTimeout   = 10 * time.Second
	answerTimeout = 15 * time.Second
	// idleTimeout is more than the 90 s after which API servers close idle connections: were we the first to close
	// one, a request could be on its way into it.
	idleTimeout = 3 * time.Minute
	// maxHeader has room for a bearer token, which an API server may be configured to send.
	maxHeader = 8 << 10

	// An HTTP/2 connection's window holds the windows of all its streams. With less, bodies that wait for the budget
	// would fill it, and bodies that could be read would wait behind them. A stream's window can't be below the protocol's
	// own 64 KiB, which callers use before they learn ours. Few streams bound the bytes that a connection brings before the
	// budget counts them: 64 MiB on all connections together. API servers open another connection for more reviews.
	maxStreams       = 8
	streamWindow     = 64 << 10
	connectionWindow = maxStreams * streamWindow
	// maxFrame is the protocol's least: each connection keeps a buffer for its largest frame so far.
	maxFrame = 16 << 10
)

// server is one listener and what is served there.
type server struct {
	http     *http.Server
	listener net.Listener
}

// admissionServer admits any client if clients is nil.
func admissionServer(handler http.Handler, files *certs.Files, clients *certs.Clients, log *zap.Logger) *http.Server {
	server := probeServer(handler, log)
	server.TLSConfig = &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: files.GetCertificate, NextProtos: []string{"h2", "http/1.1"},
	}
	if clients != nil {
		clients.Require(server.TLSConfig)
	}
	return server
}

func probeServer(handler http.Handler, log *zap.Logger) *http.Server {
	errorLog, err := zap.NewStdLogAt(log, zap.DebugLevel) // handshakes that somebody broke off: no news to most
	if err != nil {
		panic(err) // only a level that doesn't exist
	}
	return &http.Server{
		Handler: handler, ErrorLog: errorLog, MaxHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: streamWindow,
			MaxReceiveBufferPerConnection: connectionWindow, MaxReadFrameSize: maxFrame,
		},
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout,
	}
}

func routes(reviews http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(Path, reviews)
	return mux
}

func (s server) serveTLS() error {
	return s.ended(s.http.ServeTLS(s.listener, "", "")) // the certificate comes from TLSConfig
}

func (s server) serve() error {
	return s.ended(s.http.Serve(s.listener))
}

func (s server) ended(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving on %s: %w", s.listener.Addr(), err)
}

// shutdown waits for what is under way, up to a limit, and then cuts it off.
func (s server) shutdown(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		s.close()
	}
	return err
}

// close doesn't wait. Its error would be the listener's, which is closed then all the same.
func (s server) close() {
	_ = s.http.Close()
}
