package faults

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

func TestARequestIsParsedAsTheAPIServerDoes(t *testing.T) {
	for name, test := range map[string]struct {
		method, url string
		want        string // verb, target, namespace/name
		long, dry   bool
	}{
		"a GET with a name is a get": {method: "GET", url: "/api/v1/namespaces/a/services/web", want: "get services " +
			"a/web"},
		"a HEAD is a get": {method: "HEAD", url: "/api/v1/namespaces/a/services/web",
			want: "get services a/web"},
		"a GET without a name is a list": {method: "GET", url: "/api/v1/namespaces/a/services", want: "list services a"},
		"a list of all namespaces": {method: "GET", url: "/apis/discovery.k8s.io/v1/endpointslices",
			want: "list endpointslices.discovery.k8s.io"},
		"watch=true makes it a watch": {method: "GET", url: "/api/v1/services?watch=true", want: "watch services",
			long: true},
		"watch=1 makes it a watch": {method: "GET", url: "/api/v1/services?watch=1", want: "watch services",
			long: true},
		"watch without a value, too": {method: "GET", url: "/api/v1/services?watch=", want: "watch services",
			long: true},
		"watch=False is a list": {method: "GET", url: "/api/v1/services?watch=False", want: "list services"},
		"watch=0 is a list":     {method: "GET", url: "/api/v1/services?watch=0", want: "list services"},
		"the deprecated watch path": {method: "GET", url: "/api/v1/watch/namespaces/a/services",
			want: "watch services a", long: true},
		"the deprecated path with a name": {method: "GET", url: "/api/v1/watch/namespaces/a/services/web",
			want: "watch services a/web", long: true},
		"the deprecated path alone": {method: "GET", url: "/api/v1/watch", want: "get /api/v1/watch"},
		"a field selector names the object": {method: "GET",
			url:  "/api/v1/namespaces/a/configmaps?watch=true&fieldSelector=metadata.name%3Dledger",
			want: "watch configmaps a/ledger", long: true},
		"a negating field selector doesn't": {method: "GET", url: "/api/v1/configmaps?fieldSelector=metadata.name!%3Dledger",
			want: "list configmaps"},
		"an invalid field selector doesn't": {method: "GET", url: "/api/v1/configmaps?fieldSelector=!!",
			want: "list configmaps"},
		"an invalid name doesn't": {method: "GET", url: "/api/v1/configmaps?fieldSelector=metadata.name%3Da/b",
			want: "list configmaps"},
		"a POST creates": {method: "POST", url: "/api/v1/namespaces/a/services",
			want: "create services a"},
		"a PUT updates": {method: "PUT", url: "/apis/coordination.k8s.io/v1/namespaces/a/leases/x",
			want: "update leases.coordination.k8s.io a/x"},
		"a PATCH patches a subresource": {method: "PATCH", url: "/api/v1/namespaces/a/services/web/status",
			want: "patch services/status a/web"},
		"a DELETE with a name deletes": {method: "DELETE", url: "/api/v1/namespaces/a/services/web",
			want: "delete services a/web"},
		"a DELETE without one deletes many": {method: "DELETE", url: "/api/v1/namespaces/a/services",
			want: "deletecollection services a"},
		"a namespace is an object": {method: "GET", url: "/api/v1/namespaces/a", want: "get namespaces a/a"},
		"a namespace's status": {method: "PATCH", url: "/api/v1/namespaces/a/status",
			want: "patch namespaces/status a/a"},
		"a namespace's finalize": {method: "PUT", url: "/api/v1/namespaces/a/finalize",
			want: "update namespaces/finalize a/a"},
		"namespaces are a list":   {method: "GET", url: "/api/v1/namespaces", want: "list namespaces"},
		"a node has no namespace": {method: "PATCH", url: "/api/v1/nodes/n1/status", want: "patch nodes/status n1"},
		"exec stays open": {method: "POST", url: "/api/v1/namespaces/a/pods/p/exec?command=sh",
			want: "create pods/exec a/p", long: true},
		"a followed log stays open": {method: "GET", url: "/api/v1/namespaces/a/pods/p/log?follow=true",
			want: "get pods/log a/p", long: true},
		"a log that isn't followed ends": {method: "GET", url: "/api/v1/namespaces/a/pods/p/log", want: "get pods/log " +
			"a/p"},
		"a service's proxy stays open": {method: "GET", url: "/api/v1/namespaces/a/services/web/proxy/x/y",
			want: "get services/proxy a/web", long: true},
		"a dry run": {method: "PATCH", url: "/api/v1/namespaces/a/services/web?dryRun=All",
			want: "patch services a/web", dry: true},
		"health has no resource":             {method: "GET", url: "/readyz", want: "get /readyz"},
		"discovery of the core group":        {method: "GET", url: "/api/v1", want: "get /api/v1"},
		"discovery of another group":         {method: "GET", url: "/apis/apps/v1", want: "get /apis/apps/v1"},
		"the list of groups":                 {method: "GET", url: "/apis", want: "get /apis"},
		"the root path":                      {method: "GET", url: "/", want: "get /"},
		"a slash at the end changes nothing": {method: "GET", url: "/api/v1/services/", want: "list services"},
		"a strange method has no verb":       {method: "TRACE", url: "/api/v1/services", want: " services"},
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

func TestWritesAreRecognized(t *testing.T) {
	for name, test := range map[string]struct {
		request Request
		want    bool
	}{
		"a patch is a write":    {Request{Verb: "patch", Resource: "services", Subresource: "status"}, true},
		"a deletion of many is": {Request{Verb: "deletecollection", Resource: "services"}, true},
		"a lease's update is":   {Request{Verb: "update", Resource: "leases", Group: "coordination.k8s.io"}, true},
		"a list isn't":          {Request{Verb: "list", Resource: "services"}, false},
		"a dry run isn't":       {Request{Verb: "patch", Resource: "services", DryRun: true}, false},
		"a review isn't": {Request{Verb: "create", Resource: "subjectaccessreviews",
			Group: "authorization.k8s.io"}, false},
		"a token request isn't": {Request{Verb: "create", Resource: "serviceaccounts", Subresource: "token"},
			false},
		"a tunnel isn't":                  {Request{Verb: "create", Resource: "pods", Subresource: "portforward"}, false},
		"a POST without a resource isn't": {Request{Verb: "post", Path: "/healthz"}, false},
		"an eviction is":                  {Request{Verb: "create", Resource: "pods", Subresource: "eviction"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.request.IsWrite(); got != test.want {
				t.Errorf("IsWrite() = %t, want %t", got, test.want)
			}
			if got := keyOf(test.request).IsWrite(); got != test.want {
				t.Errorf("the request's Key: IsWrite() = %t, want %t", got, test.want)
			}
		})
	}
}

func TestDryRunIsReadFromADeletionsBody(t *testing.T) {
	const (
		unknown = "k8s\x00\n\x13\n\x02v1\x12\rDeleteOptions\x12"
		dryRun  = "\x05\x2a\x03All" // field 5 of DeleteOptions
	)
	for name, test := range map[string]struct {
		body string
		want bool
	}{
		"as JSON":           {`{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`, true},
		"as protobuf":       {unknown + dryRun + "\x1a\x00\"\x00", true},
		"none, as JSON":     {`{"kind":"DeleteOptions","apiVersion":"v1"}`, false},
		"none, as protobuf": {unknown + "\x00\x1a\x00\"\x00", false},
		"empty":             {"", false},
		"broken JSON":       {"{", false},
		"broken protobuf":   {"k8s\x00\xff", false},
		"another JSON type": {`{"dryRun":"All"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := bodyAsksDryRun([]byte(test.body)); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

// FuzzParse checks that a request for a resource always has an API verb, and that others keep method and path.
func FuzzParse(f *testing.F) {
	golden.Seeds(f)
	f.Add("GET", "/api/v1/namespaces/a/services/web/status", "watch=true")
	f.Add("DELETE", "/apis/apps/v1/deployments", "dryRun=All")
	f.Add("GET", "/api/v1/watch", "fieldSelector=metadata.name%3Dx")
	f.Add("POST", "//api//v1//namespaces//x", ";")
	f.Fuzz(func(t *testing.T, method, path, query string) {
		got := parse(method, &url.URL{Path: path, RawQuery: query})
		if got.Path != path {
			t.Errorf("path %q became %q", path, got.Path)
		}
		if got.Resource == "" && (got.Subresource != "" || got.Name != "" && got.Verb != "get") &&
			!strings.Contains(path, "//") {
			t.Errorf("%s %s: %+v has a name and no resource", method, path, got)
		}
		if got.Verb == "watch" && method != http.MethodGet && !strings.Contains(path, "watch") && method != http.MethodHead {
			t.Errorf("%s %s isn't a watch", method, path)
		}
		_ = got.String()
		_ = bodyAsksDryRun([]byte(query))
	})
}
