package console

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAllowedConnectionTests(t *testing.T) {
	json := header("Content-Type", "application/json")
	nothing := func(*http.Request) {}
	for name, tc := range map[string]struct {
		actions bool
		body    string
		as      func(*http.Request)
		status  int
		dialled string
	}{
		"a mux's address and port": {true, `{"address":"192.0.2.7","port":80}`, nothing, 200, "192.0.2.7:80"},
		"a backend":                {true, `{"address":"10.0.0.1","port":8080}`, nothing, 200, "10.0.0.1:8080"},
		"from the console's page": {true, `{"address":"10.0.0.1","port":8080}`,
			header("Origin", "http://localhost:8080"), 200, "10.0.0.1:8080"},
		"actions are off":                       {false, `{"address":"192.0.2.7","port":80}`, nothing, 403, ""},
		"another port of the mux's address":     {true, `{"address":"192.0.2.7","port":22}`, nothing, 403, ""},
		"another port of a backend":             {true, `{"address":"10.0.0.1","port":80}`, nothing, 403, ""},
		"another address":                       {true, `{"address":"169.254.169.254","port":80}`, nothing, 403, ""},
		"a name that may resolve to an address": {true, `{"address":"192.0.2.7.example.com","port":80}`, nothing, 403, ""},
		"a page of another site": {true, `{"address":"192.0.2.7","port":80}`,
			header("Sec-Fetch-Site", "cross-site"), 403, ""},
		"a page of the same site": {true, `{"address":"192.0.2.7","port":80}`,
			header("Sec-Fetch-Site", "same-site"), 403, ""},
		"another origin": {true, `{"address":"192.0.2.7","port":80}`,
			header("Origin", "http://evil.example.com"), 403, ""},
		"an origin without a scheme": {true, `{"address":"192.0.2.7","port":80}`,
			header("Origin", "//localhost:8080"), 403, ""},
		"an origin of another kind": {true, `{"address":"192.0.2.7","port":80}`,
			header("Origin", "file://localhost:8080"), 403, ""},
		"an origin that is an address of a page": {true, `{"address":"192.0.2.7","port":80}`,
			header("Origin", "http://localhost:8080/x"), 403, ""},
		"an opaque origin": {true, `{"address":"192.0.2.7","port":80}`, header("Origin", "null"), 403,
			""},
		"a form": {true, `{"address":"192.0.2.7","port":80}`,
			header("Content-Type", "text/plain"), 415, ""},
		"an unknown field":            {true, `{"address":"192.0.2.7","port":80,"proxy":"x"}`, nothing, 400, ""},
		"a body that isn't an object": {true, `[]`, nothing, 400, ""},
		"a too long body":             {true, `{"address":"` + strings.Repeat("1", 2000) + `"}`, nothing, 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dialled := ""
			k := newKit(t, func(o *Options) {
				o.Actions = tc.actions
				o.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
					dialled = address
					return nil, errors.New("connection refused")
				}
			})
			k.channel("web")
			got := k.ask("POST", "/api/test-tcp", json, tc.as, func(r *http.Request) {
				r.Body = http.NoBody
				*r = *httptest.NewRequest("POST", r.URL.String(), strings.NewReader(tc.body)).WithContext(r.Context())
				json(r)
				tc.as(r)
			})
			if got.Code != tc.status || dialled != tc.dialled {
				t.Errorf("status %d, dialled %q; want %d, %q: %s", got.Code, dialled, tc.status, tc.dialled, got.Body)
			}
			if tc.status == 200 && !strings.Contains(got.Body.String(), `"connected":false`) {
				t.Error(got.Body)
			}
		})
	}
}

// TestConnectionTestsAreLimited asks for many connections, one after the other: the console must not serve as a fast
// scanner of what tenants name as their backends.
func TestConnectionTestsAreLimited(t *testing.T) {
	p := newPlayed(t)
	try := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "http://localhost:8080/api/test-tcp",
			strings.NewReader(`{"address":"10.0.0.1","port":8080}`))
		header("Content-Type", "application/json")(r)
		w := httptest.NewRecorder()
		p.handler.ServeHTTP(w, r)
		return w
	}
	for range 5 * triesInARow {
		try()
	}
	if len(p.dialled) != triesInARow {
		t.Errorf("%d of %d requests at one time led to connections, want %d", len(p.dialled), 5*triesInARow, triesInARow)
	}
	if got := try(); got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") == "" {
		t.Errorf("beyond the limit: status %d, headers %v: %s", got.Code, got.Header(), got.Body)
	}
	p.pass(tryPause)
	if first, second := try().Code, try().Code; first != http.StatusOK || second != http.StatusTooManyRequests {
		t.Errorf("after %v: status %d, then %d, want 200, then 429", tryPause, first, second)
	}
}
