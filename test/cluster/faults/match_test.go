package faults

import "testing"

func TestWhatARuleIsAbout(t *testing.T) {
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
		"empty is anything":                     {Match{}, status, true},
		"all fields agree":                      {Match{Verbs: Writes(), Group: "core", Resource: "services/status", Namespace: "a", Name: "web", User: "jane"}, status, true},
		"another verb":                          {Match{Verbs: []string{"update"}}, status, false},
		"another name":                          {Match{Name: "app"}, status, false},
		"another namespace":                     {Match{Namespace: "b"}, status, false},
		"another user":                          {Match{User: "joe"}, status, false},
		"another group":                         {Match{Group: "core"}, slices, false},
		"its group":                             {Match{Group: "discovery.k8s.io"}, slices, true},
		"a resource isn't its subresource":      {Match{Resource: "services"}, status, false},
		"nor the other way round":               {Match{Resource: "services/status"}, services, false},
		"a star is the subresource":             {Match{Resource: "services/*"}, status, true},
		"and the resource itself":               {Match{Resource: "services/*"}, services, true},
		"but no other":                          {Match{Resource: "services/*"}, slices, false},
		"a path stands for itself":              {Match{Resource: "/readyz"}, health, true},
		"and for no other":                      {Match{Resource: "/livez"}, health, false},
		"a function has the last word":          {Match{Func: Request.IsWrite}, services, false},
		"which isn't enough where fields don't": {Match{Name: "app", Func: Request.IsWrite}, status, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.match.matches(test.request); got != test.want {
				t.Errorf("matches %s: %t, want %t", test.request, got, test.want)
			}
		})
	}
}
