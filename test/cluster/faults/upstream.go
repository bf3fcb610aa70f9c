package faults

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"k8s.io/client-go/rest"
)

// upstream is the API server, and the transports to it.
//
//	                 own credentials       the client's
//	ordinary         own.ordinary          bare.ordinary     HTTP/2 where the server has it
//	exec, attach, …  own.upgrade           bare.upgrade      HTTP/1.1, which alone can be upgraded
//
// The client's own token must not be sent over a connection with the upstream's client certificate, because the API
// server checks the certificate first.
type upstream struct {
	target *url.URL
	user   string // user of the upstream's own credentials
	as     string // user that they impersonate
	own    transports
	bare   transports
	conns  *connections
	bases  []*http.Transport
}

type transports struct {
	ordinary, upgrade http.RoundTripper
}

// newUpstream builds its own transports. Those of rest.TransportFor are cached, and can't be closed.
func newUpstream(lifetime context.Context, config *rest.Config) (*upstream, error) {
	if config.Transport != nil {
		return nil, fmt.Errorf("upstream %s: its rest.Config has a Transport, which can't be changed; "+
			"set Dial and TLSClientConfig instead", config.Host)
	}
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("upstream %q isn't the address of an API server: %w", config.Host, err)
	}
	u := &upstream{
		target: target,
		user:   configUser(config),
		as:     config.Impersonate.UserName,
		conns:  newConnections(),
	}
	if u.own, err = u.transports(lifetime, config); err != nil {
		return nil, err
	}
	u.bare, err = u.transports(lifetime, rest.AnonymousClientConfig(config))
	return u, err
}

func (u *upstream) transports(lifetime context.Context, config *rest.Config) (transports, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "" // keep the client's user agent
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return transports{}, fmt.Errorf("TLS settings for %s: %w", u.target, err)
	}
	dial := u.dialer(lifetime, config)
	http2 := len(config.NextProtos) == 0 || slices.Contains(config.NextProtos, "h2")
	ordinary, err := rest.HTTPWrappersForConfig(config, u.base(config, tlsConfig, dial, http2))
	if err != nil {
		return transports{}, fmt.Errorf("credentials for %s: %w", u.target, err)
	}
	upgrade, err := rest.HTTPWrappersForConfig(config, u.base(config, tlsConfig, dial, false))
	return transports{ordinary: ordinary, upgrade: upgrade}, err
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialer uses the configuration's own Dial: the API server may be in another network namespace.
func (u *upstream) dialer(lifetime context.Context, config *rest.Config) dialFunc {
	dial := dialFunc(config.Dial)
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(lifetime, cancel)()
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return u.conns.add(conn)
	}
}

// base adds no compression and no limits: the upstream request must equal the client's.
func (u *upstream) base(config *rest.Config, tlsConfig *tls.Config, dial dialFunc, http2 bool) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(http2)
	if tlsConfig != nil {
		tlsConfig = tlsConfig.Clone()
		tlsConfig.NextProtos = nil // the transport derives it from its protocols
	}
	base := &http.Transport{
		DialContext:         dial,
		TLSClientConfig:     tlsConfig,
		Protocols:           protocols,
		Proxy:               config.Proxy,
		DisableCompression:  true,
		MaxIdleConnsPerHost: 100,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	u.bases = append(u.bases, base)
	return base
}

func (u *upstream) roundTrip(call *Call) (*http.Response, error) {
	way := u.bare
	if call.onPass {
		way = u.own
	}
	if isUpgrade(call.HTTP) {
		return way.upgrade.RoundTrip(call.HTTP)
	}
	return way.ordinary.RoundTrip(call.HTTP)
}

func (u *upstream) close() {
	u.conns.shut()
	for _, base := range u.bases {
		base.CloseIdleConnections()
	}
}
