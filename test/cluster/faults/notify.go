package faults

import "net/http"

// Phase is the point of a request at which a test is called.
type Phase string

// The two points at which a test may kill the client.
const (
	Before Phase = "before" // the request has arrived but isn't made yet
	After  Phase = "after"  // the request was made, but its answer isn't delivered yet
)

// Step is a point in the course of a request.
type Step struct {
	Request
	Phase Phase
	// Status is the API server's answer, and Err the reason why there is none. Both are empty before the request is
	// made.
	Status int
	Err    error
}

// Notify calls fn before the request is made, and again when its complete answer has arrived. The proxy continues only
// after fn has returned. Later actions of a Chain run between the two calls.
func Notify(fn func(Step)) Action {
	return func(call *Call, next Next) (*http.Response, error) {
		fn(Step{Request: call.Request, Phase: Before})
		response, err := call.Whole(next)
		after := Step{Request: call.Request, Phase: After, Err: err}
		if err == nil {
			after.Status = response.StatusCode
		}
		fn(after)
		return response, err
	}
}
