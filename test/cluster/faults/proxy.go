package faults

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Proxy stands between a client and an API server until it is closed.
type Proxy struct {
	options  options
	lifetime context.Context // the parent of every request's context
	stop     context.CancelFunc
	upstream *upstream
	server   *http.Server
	served   chan struct{} // closed when the server has ended
	clients  *connections
	address  string
	pass     string // token of clients without their own
	caPEM    []byte

	rules   rules
	watches watches
	traffic *traffic

	once     sync.Once
	closeErr error
}

// Start starts a proxy to the API server of the upstream configuration. Config and ConfigFor return configurations for
// the proxy.
func Start(upstream *rest.Config, choices ...Option) (*Proxy, error) {
	chosen := options{logSize: 1000}
	for _, choose := range choices {
		choose(&chosen)
	}
	lifetime, stop := context.WithCancel(context.Background())
	p := &Proxy{
		options:  chosen,
		lifetime: lifetime,
		stop:     stop,
		served:   make(chan struct{}),
		clients:  newConnections(),
		watches:  watches{streams: map[*stream]struct{}{}},
		traffic:  newTraffic(chosen.logSize),
	}
	if err := p.start(upstream); err != nil {
		stop()
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	return p, nil
}

func (p *Proxy) start(config *rest.Config) error {
	config = rest.CopyConfig(config)
	if p.options.as.UserName != "" {
		config.Impersonate = p.options.as
	}
	var err error
	if p.upstream, err = newUpstream(p.lifetime, config); err != nil {
		return err
	}
	listening := p.options.listener
	if listening == nil {
		if listening, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
	}
	identity, err := newIdentity(listening.Addr())
	if err != nil {
		_ = listening.Close() // never served
		return err
	}
	p.address, p.pass, p.caPEM = identity.address, identity.pass, identity.caPEM
	p.serve(listener{Listener: listening, set: p.clients}, identity.certificate)
	return nil
}

func (p *Proxy) serve(l net.Listener, certificate tls.Certificate) {
	silent := log.New(io.Discard, "", 0) // broken connections are this server's purpose; Log records them
	reverse := &httputil.ReverseProxy{
		Rewrite:       p.rewrite,
		Transport:     roundTripper(p.roundTrip),
		FlushInterval: -1, // deliver each event at once
		ErrorLog:      silent,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!p.options.http1)
	p.server = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.handle(reverse, w, r) }),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		Protocols:         protocols,
		ReadHeaderTimeout: 30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return p.lifetime },
		ConnContext:       withConnection,
		ErrorLog:          silent,
	}
	go func() {
		defer close(p.served)
		_ = p.server.ServeTLS(l, "", "") // returns when closed; clients notice if it ends for another reason
	}()
}

// Disconnect cuts all connections of clients, as a failing network does. Clients may reconnect at once.
func (p *Proxy) Disconnect() { p.clients.cut() }

// Close ends everything that is open, watches included, and returns when no request runs any more. Further calls do
// nothing. A rule's own function must not call Close: it is part of a request.
func (p *Proxy) Close() error {
	p.once.Do(func() {
		p.stop()
		err := p.server.Close()
		p.clients.shut()
		p.upstream.close()
		p.closeErr = errors.Join(err, p.traffic.close(5*time.Second))
		<-p.served
	})
	return p.closeErr
}
