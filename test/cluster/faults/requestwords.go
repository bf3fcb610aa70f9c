package faults

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
)

// verbOf returns the API verb of a method on a resource.
func verbOf(method string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodGet, http.MethodHead:
		return "get"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}

// isTrue follows the API server: a present parameter is true unless its value is "false" or "0".
func isTrue(query url.Values, parameter string) bool {
	values := query[parameter]
	return len(values) > 0 && values[0] != "0" && !strings.EqualFold(values[0], "false")
}

// selectedName returns the name in the field selector of a list or watch of a single object.
func selectedName(selector string) string {
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		return ""
	}
	name, found := parsed.RequiresExactMatch("metadata.name")
	if !found || len(content.IsPathSegmentName(name)) > 0 {
		return ""
	}
	return name
}

// isTunnel returns whether a subresource opens a byte stream to a pod.
func isTunnel(subresource string) bool {
	return slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, subresource)
}

func (r *Request) isLongRunning(query url.Values) bool {
	return r.Verb == "watch" || r.Verb == "proxy" || isTunnel(r.Subresource) ||
		r.Subresource == "log" && isTrue(query, "follow")
}

// isWrite returns false for creations that store nothing: reviews, tokens and tunnels.
func isWrite(verb, target string, dryRun bool) bool {
	if dryRun || !slices.Contains(Writes(), verb) {
		return false
	}
	resource, subresource, _ := strings.Cut(target, "/")
	review := strings.HasSuffix(resource, ".authentication.k8s.io") ||
		strings.HasSuffix(resource, ".authorization.k8s.io")
	return !review && subresource != "token" && !isTunnel(subresource)
}
