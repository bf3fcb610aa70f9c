package faults

import (
	"net/http"
	"net/http/httputil"
)

// The course of a request:
//
//	handle ──► rewrite ──► roundTrip ──► rules… ──► send ──► API server
//	 parse,     aim at      outcome                 watches are
//	 count      upstream                            made holdable

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// handle accepts a request. It closes the connection of a request that it can't pass on.
func (p *Proxy) handle(reverse *httputil.ReverseProxy, w http.ResponseWriter, r *http.Request) {
	request := parse(r.Method, r.URL)
	onPass := bearerToken(r) == p.pass
	request.User = p.userOf(r, onPass)
	if keepBody(r, &request) != nil {
		panic(http.ErrAbortHandler)
	}
	call := &Call{Request: request, HTTP: r, client: r.Context(), onPass: onPass, proxy: p}
	if !p.traffic.begin(call) {
		panic(http.ErrAbortHandler)
	}
	defer p.traffic.end(call)
	reverse.ServeHTTP(w, withCall(r, call))
}

func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	call := callOf(r.In)
	r.SetURL(p.upstream.target)
	if call.onPass {
		r.Out.Header.Del("Authorization") // the transport adds its own credentials
	}
	if call.Request.Verb == "watch" {
		r.Out.Header.Del("Accept-Encoding") // only uncompressed events can be split
	}
}

func (p *Proxy) roundTrip(r *http.Request) (*http.Response, error) {
	call := callOf(r)
	call.HTTP = r
	response, err := apply(p.rules.snapshot(), call, func() (*http.Response, error) { return p.send(call) })
	p.traffic.update(call, func(entry *Entry) {
		entry.Err = err
		if err == nil {
			entry.Status = response.StatusCode
		}
	})
	return response, err
}

// send makes the request, unless its connection was cut.
func (p *Proxy) send(call *Call) (*http.Response, error) {
	if isCut(call.client) {
		return nil, errDropped
	}
	response, err := p.upstream.roundTrip(call)
	if err != nil {
		return nil, err
	}
	p.traffic.update(call, func(entry *Entry) { entry.Made = true })
	if call.Request.Verb == "watch" && response.StatusCode == http.StatusOK {
		p.watches.open(call, response)
	}
	return response, nil
}
