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
	// These limits end requests whose caller has given up: in the chart's configuration, an API server waits 5 s.
	// bodyTimeout includes the header.
	headerTimeout = 5 * time.Second
	bodyTimeout   = 10 * time.Second
	answerTimeout = 15 * time.Second
	// idleTimeout is longer than the 90 s after which API servers close idle connections. If the webhook closed a
	// connection first, a request could be lost in it.
	idleTimeout = 3 * time.Minute
	// maxHeader has room for a bearer token, which an API server may be configured to send.
	maxHeader = 8 << 10

	// An HTTP/2 connection's window holds the windows of all its streams. If it were smaller, bodies that wait for the
	// budget would fill it and block bodies that could be read. A stream's window can't be below the protocol's initial
	// 64 KiB, which callers use before they learn ours. Few streams limit the bytes that connections bring before the
	// budget counts them: 64 MiB on all connections together. API servers open another connection for more reviews.
	maxStreams       = 8
	streamWindow     = 64 << 10
	connectionWindow = maxStreams * streamWindow
	// maxFrame is the protocol's minimum: each connection keeps a buffer for its largest frame so far.
	maxFrame = 16 << 10
)

// server is a listener and its HTTP server.
type server struct {
	http     *http.Server
	listener net.Listener
}

// admissionServer returns the server of reviews. If clients is nil, it admits any client.
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
	errorLog, err := zap.NewStdLogAt(log, zap.DebugLevel) // for example, TLS handshakes that clients broke off
	if err != nil {
		panic(err) // only an unknown level fails
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

// shutdown waits for requests in progress, up to a limit, and then closes their connections.
func (s server) shutdown(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		s.close()
	}
	return err
}

// close closes the server without waiting. An error could only come from the listener, which is closed in any case.
func (s server) close() {
	_ = s.http.Close()
}
