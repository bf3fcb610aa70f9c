package faults

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// Call is a request on its way through the proxy.
type Call struct {
	Request Request
	// HTTP is the request that will be sent upstream. An action may change it before it calls next.
	HTTP *http.Request

	client context.Context // ends when the client disconnects; HTTP's context may outlive it
	onPass bool            // the client uses the proxy's token instead of its own credentials
	proxy  *Proxy
	entry  *Entry // guarded by the proxy's traffic
}

// Next continues a request with the following rules, and then with the API server.
type Next func() (*http.Response, error)

type callKey struct{}

func withCall(r *http.Request, call *Call) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callKey{}, call))
}

func callOf(r *http.Request) *Call {
	call, _ := r.Context().Value(callKey{}).(*Call)
	return call
}

// Done is closed when the client has disconnected, or the proxy closes. Err then returns the reason.
func (c *Call) Done() <-chan struct{} { return c.client.Done() }

// Err returns nil while the client is connected.
func (c *Call) Err() error { return c.client.Err() }

// Whole makes the request, and returns its complete answer in memory, even if the client disconnects meanwhile. That is
// the meaning of "the request is made". Of a long-running request it returns the beginning of the answer.
func (c *Call) Whole(next Next) (*http.Response, error) {
	if c.Request.LongRunning {
		return next()
	}
	asked := c.HTTP
	ctx, cancel := context.WithCancel(context.WithoutCancel(asked.Context()))
	defer cancel()
	defer context.AfterFunc(c.proxy.lifetime, cancel)()
	c.HTTP = asked.WithContext(ctx)
	defer func() { c.HTTP = asked }()
	response, err := next()
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // read to its end, so the error is irrelevant
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

func (c *Call) note(rule string) {
	if rule != "" {
		c.proxy.traffic.update(c, func(entry *Entry) { entry.Rules = append(entry.Rules, rule) })
	}
}
