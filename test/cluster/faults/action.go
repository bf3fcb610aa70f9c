package faults

import (
	"errors"
	"net/http"
	"time"
)

// Action is what a rule does with a request. It may call next once, which continues the request, and may change the
// answer. An error closes the connection: the client gets no answer.
type Action func(call *Call, next Next) (*http.Response, error)

// errDropped closes the client's connection.
var errDropped = errors.New("dropped by a rule")

// Chain combines several actions. The first is the outermost.
func Chain(actions ...Action) Action {
	return func(call *Call, next Next) (*http.Response, error) {
		if len(actions) == 0 {
			return next()
		}
		return actions[0](call, func() (*http.Response, error) { return Chain(actions[1:]...)(call, next) })
	}
}

// Delay delays the request.
func Delay(d time.Duration) Action {
	return func(call *Call, next Next) (*http.Response, error) {
		if err := call.sleep(d); err != nil {
			return nil, err
		}
		return next()
	}
}

// DelayAfter makes the request at once, and delays its answer.
func DelayAfter(d time.Duration) Action {
	return func(call *Call, next Next) (*http.Response, error) {
		response, err := call.Whole(next)
		if err != nil {
			return nil, err
		}
		if err := call.sleep(d); err != nil {
			_ = response.Body.Close() // the client has gone; only the upstream's stream is left to end
			return nil, err
		}
		return response, nil
	}
}

// Drop closes the connection without making the request. Over HTTP/2 it closes only the request's stream.
func Drop() Action {
	return func(*Call, Next) (*http.Response, error) { return nil, errDropped }
}

// DropAfter makes the request, and closes the connection instead of answering.
func DropAfter() Action {
	return func(call *Call, next Next) (*http.Response, error) {
		response, err := call.Whole(next)
		if err != nil {
			return nil, err
		}
		_ = response.Body.Close() // the answer is lost on purpose
		return nil, errDropped
	}
}

// gate holds a request until open is closed.
func gate(open <-chan struct{}) Action {
	return func(call *Call, next Next) (*http.Response, error) {
		select {
		case <-open:
			return next()
		case <-call.Done():
			return nil, call.Err()
		}
	}
}

func (c *Call) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.Done():
		return c.Err()
	}
}
