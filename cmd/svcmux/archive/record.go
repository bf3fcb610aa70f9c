package archive

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// Recorder keeps the answers of an API server. The client must ask for JSON.
type Recorder struct {
	mu      sync.Mutex
	header  Header
	objects map[string]Object
}

// NewRecorder returns a recorder without answers.
func NewRecorder() *Recorder {
	return &Recorder{objects: map[string]Object{}}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// Wrap records the answers of a client.
func (r *Recorder) Wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(request *http.Request) (*http.Response, error) {
		var asked []byte
		if request.GetBody != nil {
			if body, err := request.GetBody(); err == nil {
				asked, _ = io.ReadAll(body)
			}
		}
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		answer, err := io.ReadAll(response.Body)
		if closed := response.Body.Close(); err == nil {
			err = closed
		}
		response.Body = io.NopCloser(bytes.NewReader(answer))
		if err == nil {
			r.note(request, asked, response.StatusCode, answer)
		}
		return response, err
	})
}

func (r *Recorder) note(request *http.Request, asked []byte, code int, answer []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ask := requestOf(request.URL)
	kind, known := ask.kindOf()
	object := Object{}
	err := decode(answer, &object)
	switch {
	case code == http.StatusNotFound: // for a kind that doesn't exist, the answer is plain text
		add(&r.header.Absent, ask)
	case err != nil:
	case code == http.StatusForbidden:
		add(&r.header.Refused, Refusal{ask, object.text("message")})
	case code >= http.StatusBadRequest:
	case request.URL.Path == "/version":
		r.header.Kubernetes = object.text("gitVersion")
	case ask.Resource == reviews:
		right, err := rightOf(asked)
		if right.Allowed, _ = object.fields("status")["allowed"].(bool); err == nil {
			add(&r.header.Rights, right)
		}
	case known && ask.Name != "":
		r.keep(kind, object)
	case known:
		add(&r.header.Read, ask)
		items, _ := object["items"].([]any)
		for _, item := range items {
			if fields, is := item.(map[string]any); is {
				r.keep(kind, fields)
			}
		}
	}
}

// add adds an answer to a list once: commands ask for the same things.
func add[T comparable](list *[]T, answer T) {
	if !slices.Contains(*list, answer) {
		*list = append(*list, answer)
	}
}

func (r *Recorder) keep(kind kind, object Object) {
	object["apiVersion"], object["kind"] = kind.apiVersion, kind.name
	r.objects[kind.resource+"/"+object.Namespace()+"/"+object.Name()] = object
}

// Archive returns the answers so far.
func (r *Recorder) Archive() *Archive {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &Archive{Header: r.header, Objects: slices.SortedFunc(maps.Values(r.objects), compare)}
	a.Schema = Schema
	return a
}

// review is the body of a SubjectAccessReview.
type review struct {
	Spec struct {
		User               string
		ResourceAttributes struct{ Verb, Group, Resource, Subresource, Namespace string }
	}
}

// rightOf returns the right that a SubjectAccessReview asks about.
func rightOf(body []byte) (Right, error) {
	var asked review
	err := json.Unmarshal(body, &asked)
	of := asked.Spec.ResourceAttributes
	return Right{User: asked.Spec.User, Verb: of.Verb, Group: of.Group, Resource: of.Resource, Subresource: of.Subresource,
		Namespace: of.Namespace}, err
}

// decode decodes JSON, and keeps large numbers as they are.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}
