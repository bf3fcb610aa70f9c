package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Edit changes the Status of an Answer.
type Edit func(*metav1.Status)

// RetryAfter sets the number of seconds that the client must wait, in the body and in the header. 0 removes it.
func RetryAfter(seconds int32) Edit {
	return func(status *metav1.Status) { status.Details.RetryAfterSeconds = seconds }
}

// Message sets the error's message.
func Message(message string) Edit {
	return func(status *metav1.Status) { status.Message = message }
}

// Answer answers with an error as the API server does, without making the request. The code determines the reason: 409
// is AlreadyExists on create and Conflict otherwise, 410 is Expired, 429 asks for a retry after one second.
func Answer(code int, edits ...Edit) Action {
	return func(call *Call, _ Next) (*http.Response, error) {
		return answer(call, code, edits)
	}
}

// AnswerAfter makes the request, and replaces its answer by the error. If the upstream can't be reached, the connection
// is closed.
func AnswerAfter(code int, edits ...Edit) Action {
	return func(call *Call, next Next) (*http.Response, error) {
		response, err := call.Whole(next)
		if err != nil {
			return nil, err
		}
		_ = response.Body.Close() // replaced on purpose
		return answer(call, code, edits)
	}
}

func answer(call *Call, code int, edits []Edit) (*http.Response, error) {
	status := statusOf(call.Request, code)
	for _, edit := range edits {
		edit(status)
	}
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	response := &http.Response{
		StatusCode: int(status.Code),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-cache, private"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       call.HTTP,
	}
	if seconds := status.Details.RetryAfterSeconds; seconds > 0 {
		response.Header.Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	return response, nil
}

// statusOf returns the error as the API server words it.
func statusOf(r Request, code int) *metav1.Status {
	status := errorOf(r, code).ErrStatus
	status.Kind, status.APIVersion = "Status", "v1"
	if status.Details == nil {
		status.Details = &metav1.StatusDetails{Group: r.Group, Kind: r.Resource, Name: r.Name}
	}
	return &status
}

func errorOf(r Request, code int) *apierrors.StatusError {
	resource := schema.GroupResource{Group: r.Group, Resource: r.Resource}
	switch code {
	case http.StatusConflict:
		if r.Verb == "create" {
			return apierrors.NewAlreadyExists(resource, r.Name)
		}
		return apierrors.NewConflict(resource, r.Name, errors.New(
			"the object has been modified; please apply your changes to the latest version and try again"))
	case http.StatusForbidden:
		return apierrors.NewForbidden(resource, r.Name, errors.New("refused by a rule"))
	case http.StatusNotFound:
		return apierrors.NewNotFound(resource, r.Name)
	case http.StatusGone:
		return apierrors.NewResourceExpired("too old resource version: 1 (2)")
	case http.StatusTooManyRequests:
		return apierrors.NewTooManyRequests("too many requests, please try again later", 1)
	case http.StatusInternalServerError:
		return apierrors.NewInternalError(errors.New("failed by a rule"))
	}
	return apierrors.NewGenericServerResponse(code, r.Verb, resource, r.Name, "answered by a rule", 0, false)
}
