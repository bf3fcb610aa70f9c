package faults

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARequestIsParsedAsTheAPIServerDoes(t *testing.T) {
	for name, test := range map[string]struct {
		method, url string
		want        string // verb, target, namespace/name
		long, dry   bool
	}{
		"a named object is got":               {method: "GET", url: "/api/v1/namespaces/a/services/web", want: "get services a/web"},
		"a HEAD is a get":                     {method: "HEAD", url: "/api/v1/namespaces/a/services/web", want: "get services a/web"},
		"without a name it is a list":         {method: "GET", url: "/api/v1/namespaces/a/services", want: "list services a"},
		"of all namespaces too":               {method: "GET", url: "/apis/discovery.k8s.io/v1/endpointslices", want: "list endpointslices.discovery.k8s.io"},
		"watch=true makes it a watch":         {method: "GET", url: "/api/v1/services?watch=true", want: "watch services", long: true},
		"watch=1 too":                         {method: "GET", url: "/api/v1/services?watch=1", want: "watch services", long: true},
		"watch with no value too":             {method: "GET", url: "/api/v1/services?watch=", want: "watch services", long: true},
		"watch=false doesn't":                 {method: "GET", url: "/api/v1/services?watch=False", want: "list services"},
		"watch=0 doesn't":                     {method: "GET", url: "/api/v1/services?watch=0", want: "list services"},
		"the deprecated watch path does":      {method: "GET", url: "/api/v1/watch/namespaces/a/services", want: "watch services a", long: true},
		"of one object too":                   {method: "GET", url: "/api/v1/watch/namespaces/a/services/web", want: "watch services a/web", long: true},
		"and with nothing behind is no verb":  {method: "GET", url: "/api/v1/watch", want: "get /api/v1/watch"},
		"a field selector names the object":   {method: "GET", url: "/api/v1/namespaces/a/configmaps?watch=true&fieldSelector=metadata.name%3Dledger", want: "watch configmaps a/ledger", long: true},
		"unless it negates":                   {method: "GET", url: "/api/v1/configmaps?fieldSelector=metadata.name!%3Dledger", want: "list configmaps"},
		"or is no selector":                   {method: "GET", url: "/api/v1/configmaps?fieldSelector=!!", want: "list configmaps"},
		"or is no name":                       {method: "GET", url: "/api/v1/configmaps?fieldSelector=metadata.name%3Da/b", want: "list configmaps"},
		"a POST creates":                      {method: "POST", url: "/api/v1/namespaces/a/services", want: "create services a"},
		"a PUT updates":                       {method: "PUT", url: "/apis/coordination.k8s.io/v1/namespaces/a/leases/x", want: "update leases.coordination.k8s.io a/x"},
		"a PATCH patches a subresource":       {method: "PATCH", url: "/api/v1/namespaces/a/services/web/status", want: "patch services/status a/web"},
		"a DELETE with a name deletes":        {method: "DELETE", url: "/api/v1/namespaces/a/services/web", want: "delete services a/web"},
		"without one it deletes a collection": {method: "DELETE", url: "/api/v1/namespaces/a/services", want: "deletecollection services a"},
		"a namespace is an object":            {method: "GET", url: "/api/v1/namespaces/a", want: "get namespaces a/a"},
		"with a status":                       {method: "PATCH", url: "/api/v1/namespaces/a/status", want: "patch namespaces/status a/a"},
		"and finalize":                        {method: "PUT", url: "/api/v1/namespaces/a/finalize", want: "update namespaces/finalize a/a"},
		"namespaces are a list":               {method: "GET", url: "/api/v1/namespaces", want: "list namespaces"},
		"a node has no namespace":             {method: "PATCH", url: "/api/v1/nodes/n1/status", want: "patch nodes/status n1"},
		"exec stays open":                     {method: "POST", url: "/api/v1/namespaces/a/pods/p/exec?command=sh", want: "create pods/exec a/p", long: true},
		"a followed log stays open":           {method: "GET", url: "/api/v1/namespaces/a/pods/p/log?follow=true", want: "get pods/log a/p", long: true},
		"a log that isn't doesn't":            {method: "GET", url: "/api/v1/namespaces/a/pods/p/log", want: "get pods/log a/p"},
		"a service's proxy stays open":        {method: "GET", url: "/api/v1/namespaces/a/services/web/proxy/x/y", want: "get services/proxy a/web", long: true},
		"a dry run":                           {method: "PATCH", url: "/api/v1/namespaces/a/services/web?dryRun=All", want: "patch services a/web", dry: true},
		"health is a path":                    {method: "GET", url: "/readyz", want: "get /readyz"},
		"so is discovery of the core":         {method: "GET", url: "/api/v1", want: "get /api/v1"},
		"and of a group":                      {method: "GET", url: "/apis/apps/v1", want: "get /apis/apps/v1"},
		"and of the groups":                   {method: "GET", url: "/apis", want: "get /apis"},
		"and the root":                        {method: "GET", url: "/", want: "get /"},
		"a slash at the end changes nothing":  {method: "GET", url: "/api/v1/services/", want: "list services"},
		"a strange method has no verb":        {method: "TRACE", url: "/api/v1/services", want: " services"},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(test.url)
			if err != nil {
				t.Fatal(err)
			}
			got := parse(test.method, u)
			words := strings.TrimSuffix(got.Verb+" "+got.Target()+" "+strings.Trim(got.Namespace+"/"+got.Name, "/"), " ")
			if diff := cmp.Diff(test.want, words); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if got.LongRunning != test.long || got.DryRun != test.dry {
				t.Errorf("long-running %t, dry run %t; want %t, %t", got.LongRunning, got.DryRun, test.long, test.dry)
			}
		})
	}
}

func TestWhatCountsAsAWrite(t *testing.T) {
	for name, test := range map[string]struct {
		request Request
		want    bool
	}{
		"a patch does":                   {Request{Verb: "patch", Resource: "services", Subresource: "status"}, true},
		"a deletion of many does":        {Request{Verb: "deletecollection", Resource: "services"}, true},
		"a lease does":                   {Request{Verb: "update", Resource: "leases", Group: "coordination.k8s.io"}, true},
		"a list doesn't":                 {Request{Verb: "list", Resource: "services"}, false},
		"a dry run doesn't":              {Request{Verb: "patch", Resource: "services", DryRun: true}, false},
		"a review doesn't":               {Request{Verb: "create", Resource: "subjectaccessreviews", Group: "authorization.k8s.io"}, false},
		"asking for a token doesn't":     {Request{Verb: "create", Resource: "serviceaccounts", Subresource: "token"}, false},
		"a tunnel doesn't":               {Request{Verb: "create", Resource: "pods", Subresource: "portforward"}, false},
		"a POST to no resource doesn't":  {Request{Verb: "post", Path: "/healthz"}, false},
		"an eviction does, like a taint": {Request{Verb: "create", Resource: "pods", Subresource: "eviction"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.request.IsWrite(); got != test.want {
				t.Errorf("IsWrite() = %t, want %t", got, test.want)
			}
			if got := keyOf(test.request).IsWrite(); got != test.want {
				t.Errorf("its key: IsWrite() = %t, want %t", got, test.want)
			}
		})
	}
}

func TestADeletionsBodyMayAskForADryRun(t *testing.T) {
	const (
		unknown = "k8s\x00\n\x13\n\x02v1\x12\rDeleteOptions\x12"
		dryRun  = "\x05\x2a\x03All" // field 5 of DeleteOptions
	)
	for name, test := range map[string]struct {
		body string
		want bool
	}{
		"as JSON":              {`{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`, true},
		"as protobuf":          {unknown + dryRun + "\x1a\x00\"\x00", true},
		"or not, as JSON":      {`{"kind":"DeleteOptions","apiVersion":"v1"}`, false},
		"or not, as protobuf":  {unknown + "\x00\x1a\x00\"\x00", false},
		"or be empty":          {"", false},
		"or be broken":         {"{", false},
		"or broken protobuf":   {"k8s\x00\xff", false},
		"or something strange": {`{"dryRun":"All"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := bodyAsksDryRun([]byte(test.body)); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

// FuzzParse: whatever comes in, a resource's request has a verb of the API, and the rest stays as it was.
func FuzzParse(f *testing.F) {
	f.Add("GET", "/api/v1/namespaces/a/services/web/status", "watch=true")
	f.Add("DELETE", "/apis/apps/v1/deployments", "dryRun=All")
	f.Add("GET", "/api/v1/watch", "fieldSelector=metadata.name%3Dx")
	f.Add("POST", "//api//v1//namespaces//x", ";")
	f.Fuzz(func(t *testing.T, method, path, query string) {
		got := parse(method, &url.URL{Path: path, RawQuery: query})
		if got.Path != path {
			t.Errorf("path %q became %q", path, got.Path)
		}
		if got.Resource == "" && (got.Subresource != "" || got.Name != "" && got.Verb != "get") && !strings.Contains(path, "//") {
			t.Errorf("%s %s: %+v has a name and no resource", method, path, got)
		}
		if got.Verb == "watch" && method != http.MethodGet && !strings.Contains(path, "watch") && method != http.MethodHead {
			t.Errorf("%s %s is no watch", method, path)
		}
		_ = got.String()
		_ = bodyAsksDryRun([]byte(query))
	})
}
