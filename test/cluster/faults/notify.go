package faults

import "net/http"

// Phase says at which point of a request a test is called.
type Phase string

// The two points at which a client may be killed.
const (
	Before Phase = "before" // the request has come in and isn't made yet
	After  Phase = "after"  // it was made, its answer isn't delivered yet
)

// Step is a point in the life of a request.
type Step struct {
	Request
	Phase Phase
	// Status is the API server's answer, and Err why there is none. Both are empty before.
	Status int
	Err    error
}

// Notify calls fn before the request is made and again when its answer has come, complete. The answer isn't
// delivered, or the request not made, before fn returns. What follows in a Chain happens in between.
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
