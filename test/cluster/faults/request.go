package faults

import (
	"net/url"
	"strings"
)

// Request is an HTTP request as the API server understands it.
type Request struct {
	// get, list, watch, create, update, patch, delete, deletecollection; without a resource, the HTTP method
	Verb        string
	Group       string // "" is the core group
	Version     string
	Resource    string // "" if the path has no resource
	Subresource string
	Namespace   string
	Name        string
	Path        string
	User        string // see userOf
	DryRun      bool
	LongRunning bool // a watch, a followed log, a tunnel: open until the client ends it
}

// Writes returns the verbs that change stored objects.
func Writes() []string {
	return []string{"create", "update", "patch", "delete", "deletecollection"}
}

// IsWrite returns whether the request may have changed stored objects if it was made.
func (r Request) IsWrite() bool { return isWrite(r.Verb, r.Target(), r.DryRun) }

// Target names the request's resource as RBAC does ("services/status", "leases.coordination.k8s.io"), or returns the
// path if the request has no resource.
func (r Request) Target() string {
	if r.Resource == "" {
		return r.Path
	}
	target := r.Resource
	if r.Group != "" {
		target += "." + r.Group
	}
	if r.Subresource != "" {
		target += "/" + r.Subresource
	}
	return target
}

// String returns one readable line: "patch services/status team-a/web by system:serviceaccount:mux:reconciler".
func (r Request) String() string {
	words := []string{r.Verb, r.Target()}
	object := strings.Trim(r.Namespace+"/"+r.Name, "/")
	if object != "" {
		words = append(words, object)
	}
	if r.DryRun {
		words = append(words, "(dry run)")
	}
	return strings.Join(append(words, "by", r.User), " ")
}

// parse reads method and URL in the same order as the API server. It doesn't set User, nor a dry run that only the body
// asks for.
func parse(method string, u *url.URL) Request {
	request := Request{Verb: strings.ToLower(method), Path: u.Path}
	parts, ok := request.readGroup(strings.Split(strings.Trim(u.Path, "/"), "/"))
	if !ok {
		return request
	}
	if parts[0] == "watch" || parts[0] == "proxy" { // the deprecated /api/v1/watch/services
		if len(parts) < 2 {
			return request
		}
		request.Verb, parts = parts[0], parts[1:]
	} else {
		request.Verb = verbOf(method)
	}
	request.readObject(parts)
	query := u.Query()
	request.settleVerb(query)
	request.DryRun = query.Get("dryRun") != ""
	request.LongRunning = request.isLongRunning(query)
	return request
}

// readGroup removes /api/v1 or /apis/group/version from the path. It returns false if no resource follows.
func (r *Request) readGroup(parts []string) ([]string, bool) {
	switch {
	case parts[0] == "api" && len(parts) > 2:
		r.Version = parts[1]
		return parts[2:], true
	case parts[0] == "apis" && len(parts) > 3:
		r.Group, r.Version = parts[1], parts[2]
		return parts[3:], true
	}
	return nil, false
}

// readObject reads [namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]]. A namespace is an object, too: its two subresources
// aren't resources in it.
func (r *Request) readObject(parts []string) {
	if parts[0] == "namespaces" && len(parts) > 1 {
		r.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	r.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 && r.Verb != "proxy" {
		r.Subresource = parts[2]
	}
}

// settleVerb distinguishes list, watch and deletecollection from the verbs for a named object.
func (r *Request) settleVerb(query url.Values) {
	if r.Name != "" {
		return
	}
	switch r.Verb {
	case "delete":
		r.Verb = "deletecollection"
	case "get":
		r.Verb = "list"
		if isTrue(query, "watch") {
			r.Verb = "watch"
		}
		r.Name = selectedName(query.Get("fieldSelector"))
	}
}
