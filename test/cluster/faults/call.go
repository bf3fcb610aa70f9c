package faults

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// Call is one request on its way through the proxy.
type Call struct {
	Request Request
	// HTTP is what will be sent upstream. An action may change it before it calls next.
	HTTP *http.Request

	client context.Context // ends when the client leaves; HTTP's may live on
	onPass bool            // the client has no credentials of its own
	proxy  *Proxy
	entry  *Entry // guarded by the proxy's traffic
}

// Next goes on with the request: the rules that follow, then the API server.
type Next func() (*http.Response, error)

type callKey struct{}

func withCall(r *http.Request, call *Call) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callKey{}, call))
}

func callOf(r *http.Request) *Call {
	call, _ := r.Context().Value(callKey{}).(*Call)
	return call
}

// Done is closed when the client has gone away, or the proxy closes. Then Err says so.
func (c *Call) Done() <-chan struct{} { return c.client.Done() }

// Err is nil while the client is there.
func (c *Call) Err() error { return c.client.Err() }

// Whole goes on with the request and returns its answer complete and in memory, whatever becomes of the client
// meanwhile: what "the request is made" means. Of a long-running request it returns the answer's beginning.
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
	_ = response.Body.Close() // read to its end; nothing is left to fail
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
