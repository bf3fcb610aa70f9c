package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// RoundTrip answers a request in place of the API server.
func (a *Archive) RoundTrip(r *http.Request) (*http.Response, error) {
	ask := requestOf(r.URL)
	switch {
	case r.URL.Path == "/version" && a.Kubernetes != "":
		return answer(r, http.StatusOK, Object{"gitVersion": a.Kubernetes}), nil
	case r.URL.Query().Get("watch") != "":
		return refuse(r, http.StatusForbidden, "a snapshot doesn't change: leave out --watch"), nil
	case ask.Resource == reviews && r.Method == http.MethodPost:
		return a.review(r)
	}
	for _, refused := range a.Refused {
		if refused.Request == ask {
			return refuse(r, http.StatusForbidden, refused.Message), nil
		}
	}
	isRead := slices.ContainsFunc(a.Read, func(list Request) bool { return list.includes(ask) })
	// of an absent kind, no object exists
	isAbsent := slices.ContainsFunc(a.Absent, func(absent Request) bool { return absent == ask || absent.includes(ask) })
	found := a.find(ask)
	switch {
	case isAbsent, ask.Name != "" && len(found) == 0 && isRead:
		return refuse(r, http.StatusNotFound, ask.Resource+" \""+ask.Name+"\" not found"), nil
	case ask.Name != "" && len(found) > 0:
		return answer(r, http.StatusOK, found[0]), nil
	case ask.Name == "" && isRead:
		kind, _ := ask.kindOf()
		return answer(r, http.StatusOK,
			Object{"apiVersion": kind.apiVersion, "kind": kind.name + "List", "metadata": Object{}, "items": found}), nil
	}
	return refuse(r, http.StatusForbidden, fmt.Sprintf("%s is forbidden: %s", ask.Resource, notRead(ask))), nil
}

// notRead says that a snapshot lacks objects.
func notRead(ask Request) string {
	text := "the snapshot doesn't have resource \"" + ask.Resource + "\""
	if ask.Name != "" {
		text += " \"" + ask.Name + "\""
	}
	if ask.Namespace != "" {
		text += " in the namespace \"" + ask.Namespace + "\""
	}
	return text
}

// find returns the objects that a request asks for.
func (a *Archive) find(ask Request) []Object {
	selector, err := labels.Parse(ask.Selector)
	kind, known := ask.kindOf()
	if err != nil || !known {
		return nil
	}
	found := []Object{}
	for _, object := range a.Objects {
		if object.Kind() == kind.name && (ask.Namespace == "" || object.Namespace() == ask.Namespace) &&
			(ask.Name == "" || object.Name() == ask.Name) &&
			(ask.Selector == "" || selector.Matches(labels.Set(object.labels()))) {
			found = append(found, object)
		}
	}
	return found
}

// review answers a SubjectAccessReview.
func (a *Archive) review(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	asked, err := rightOf(body)
	if err != nil {
		return nil, err
	}
	for _, right := range a.Rights {
		allowed := right.Allowed
		if right.Allowed = false; right == asked {
			return answer(r, http.StatusCreated, Object{"status": Object{"allowed": allowed}}), nil
		}
	}
	for _, refused := range a.Refused {
		if refused.Resource == reviews {
			return refuse(r, http.StatusForbidden, refused.Message), nil
		}
	}
	return refuse(r, http.StatusForbidden, reviews+" is forbidden: the snapshot doesn't have this right"), nil
}

func refuse(r *http.Request, code int, message string) *http.Response {
	reason := map[int]string{http.StatusForbidden: "Forbidden", http.StatusNotFound: "NotFound"}[code]
	return answer(r, code,
		Object{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message})
}

func answer(r *http.Request, code int, object Object) *http.Response {
	text, _ := json.Marshal(object) // it came from JSON
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)),
		ContentLength: int64(len(text)),
	}
}
