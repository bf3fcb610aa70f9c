package faults

import "testing"

func TestMatchSelectsRequests(t *testing.T) {
	status := Request{
		Verb: "patch", Version: "v1", Resource: "services", Subresource: "status",
		Namespace: "a", Name: "web", User: "jane",
	}
	services := Request{Verb: "list", Version: "v1", Resource: "services"}
	slices := Request{Verb: "create", Group: "discovery.k8s.io", Resource: "endpointslices"}
	health := Request{Verb: "get", Path: "/readyz"}
	for name, test := range map[string]struct {
		match   Match
		request Request
		want    bool
	}{
		"an empty match selects all": {Match{}, status, true},
		"all fields agree": {Match{Verbs: Writes(), Group: "core", Resource: "services/status",
			Namespace: "a", Name: "web", User: "jane"}, status, true},
		"another verb":                     {Match{Verbs: []string{"update"}}, status, false},
		"another name":                     {Match{Name: "app"}, status, false},
		"another namespace":                {Match{Namespace: "b"}, status, false},
		"another user":                     {Match{User: "joe"}, status, false},
		"another group":                    {Match{Group: "core"}, slices, false},
		"the request's group":              {Match{Group: "discovery.k8s.io"}, slices, true},
		"a resource isn't its subresource": {Match{Resource: "services"}, status, false},
		"a subresource isn't its resource": {Match{Resource: "services/status"}, services, false},
		"a star is the subresource":        {Match{Resource: "services/*"}, status, true},
		"a star is the resource, too":      {Match{Resource: "services/*"}, services, true},
		"a star isn't another resource":    {Match{Resource: "services/*"}, slices, false},
		"a path selects itself":            {Match{Resource: "/readyz"}, health, true},
		"a path selects no other path":     {Match{Resource: "/livez"}, health, false},
		"a function decides last":          {Match{Func: Request.IsWrite}, services, false},
		"a function and another name":      {Match{Name: "app", Func: Request.IsWrite}, status, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.match.matches(test.request); got != test.want {
				t.Errorf("matches %s: %t, want %t", test.request, got, test.want)
			}
		})
	}
}
