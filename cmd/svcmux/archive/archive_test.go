package archive

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAbsentKindIsRecorded has the answer of an API server to a kind that it doesn't know.
func TestAbsentKindIsRecorded(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	recorder := NewRecorder()
	get := func(through http.RoundTripper) int {
		client := http.Client{Transport: through}
		const path = "/apis/monitoring.coreos.com/v1/namespaces/svc-mux/prometheusrules?limit=500"
		response, err := client.Get(server.URL + path) //nolint:noctx // the server is the test's
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode
	}
	get(recorder.Wrap(http.DefaultTransport))
	if code := get(recorder.Archive()); code != http.StatusNotFound {
		t.Errorf("the snapshot answers %d", code)
	}
}

// TestSecretsAreNotKept records requests that no command makes.
func TestSecretsAreNotKept(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w,
			`{"kind":"SecretList","items":[{"metadata":{"namespace":"shop","name":"key"},"data":{"key":"c2VjcmV0"}}],`+
				`"metadata":{"name":"key"}}`)
	}))
	t.Cleanup(server.Close)
	recorder := NewRecorder()
	client := http.Client{Transport: recorder.Wrap(http.DefaultTransport)}
	for _, path := range []string{"/api/v1/secrets", "/api/v1/namespaces/shop/secrets/key", "/api/v1/services"} {
		response, err := client.Get(server.URL + path) //nolint:noctx // the server is the test's
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	a := recorder.Archive()
	if len(a.Objects) != 1 || a.Objects[0].Kind() != "Service" || len(a.Read) != 1 {
		t.Errorf("kept: %+v, of %+v", a.Objects, a.Read)
	}
}
