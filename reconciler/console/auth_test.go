package console

import (
	"context"
	"encoding/base64"
	"net/http"
	"testing"
	"time"
)

func basic(user, password string) func(*http.Request) {
	return header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

func TestAccess(t *testing.T) {
	for name, tc := range map[string]struct {
		token  bool
		path   string
		as     func(*http.Request)
		status int
		reason string // reason of the counted refusal
	}{
		"no token":                            {true, "/api/state", host("mux.example.com"), 401, ""},
		"the page without a token":            {true, "/", host("mux.example.com"), 401, ""},
		"a part of the page without a token":  {true, "/main.js", host("mux.example.com"), 401, ""},
		"any user with the token as password": {true, "/api/state", basic("admin", "open sesame"), 200, ""},
		"no user with the token as password":  {true, "/api/state", basic("", "open sesame"), 200, ""},
		"the token as bearer": {true, "/api/state", header("Authorization", "Bearer open sesame"),
			200, ""},
		"the token as bearer, in lower case": {true, "/api/state", header("Authorization", "bearer open sesame"),
			200, ""},
		"another token": {true, "/api/state", header("Authorization", "Bearer open"), 401,
			"token"},
		"the token as the user": {true, "/api/state", basic("open sesame", ""), 401, "token"},
		"an empty token": {true, "/api/state", header("Authorization", "Bearer "), 401,
			"token"},
		"another scheme": {true, "/api/state", header("Authorization", "Digest open sesame"),
			401, ""},
		"health without a token":                       {true, "/healthz", host("mux.example.com"), 200, ""},
		"this machine, if no token is set":             {false, "/api/state", host("localhost:8080"), 200, ""},
		"this machine by its address":                  {false, "/api/state", host("127.0.0.1:8080"), 200, ""},
		"this machine by its IPv6 address":             {false, "/api/state", host("[::1]:8080"), 200, ""},
		"a foreign name that resolves to this machine": {false, "/api/state", host("evil.example.com:8080"), 403, "host"},
		"a name that begins like this machine's":       {false, "/api/state", host("localhost.example.com"), 403, "host"},
		"a name that ends like this machine's": {false, "/api/state", host("evil.example.com:80:.localhost"), 403,
			"host"},
		"another address, if no token is set": {false, "/", host("10.0.0.1:8080"), 403, "host"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, func(o *Options) {
				if tc.token {
					withToken(o)
				}
			})
			got := k.ask("GET", tc.path, tc.as)
			if got.Code != tc.status {
				t.Errorf("status %d, want %d: %s", got.Code, tc.status, got.Body)
			}
			if challenged := len(got.Header()["Www-Authenticate"]) == 2; challenged != (tc.status == 401) {
				t.Errorf("the challenge is %q", got.Header()["Www-Authenticate"])
			}
			if tc.reason != "" && k.refusals(t, tc.reason) != 1 {
				t.Errorf("no refusal is counted as %q", tc.reason)
			}
		})
	}
}

func TestWrongTokensAreThrottled(t *testing.T) {
	k := newKit(t, withToken)
	var paused time.Duration
	k.server.pause = func(_ context.Context, span time.Duration) { paused += span }
	for range wrongInARow {
		if got := k.ask("GET", "/", basic("", "guess"), from("192.0.2.1:1")); got.Code != 401 {
			t.Fatalf("status %d", got.Code)
		}
	}
	if paused != wrongInARow*failurePause {
		t.Errorf("the answer took %s", paused)
	}
	if got := k.ask("GET", "/", basic("", "open sesame"), from("192.0.2.1:1")); got.Code != 429 ||
		got.Header().Get("Retry-After") == "" {
		t.Errorf("after %d wrong tokens, the right one is accepted: %d", wrongInARow, got.Code)
	}
	if got := k.ask("GET", "/", basic("", "open sesame"), from("192.0.2.2:1")); got.Code != 200 {
		t.Errorf("another sender is throttled, too: %d", got.Code)
	}
	k.pass(wrongPause)
	if got := k.ask("GET", "/", basic("", "open sesame"), from("192.0.2.1:1")); got.Code != 200 {
		t.Errorf("the sender is still throttled after a while: %d", got.Code)
	}
	for i := range 2 * maxSenders {
		k.server.throttle.failed(string(rune('a'+i)), k.now())
	}
	if n := len(k.server.throttle.from); n > maxSenders+1 {
		t.Errorf("the throttle remembers %d addresses", n)
	}
}

func TestEveryAnswerIsProtected(t *testing.T) {
	k := newKit(t, withToken)
	for _, path := range []string{"/", "/main.js", "/api/state", "/api/nothing", "/healthz", "/../secret", "/page.go"} {
		for _, as := range []func(*http.Request){basic("", "open sesame"), basic("", "wrong")} {
			got := k.ask("GET", path, as)
			for name, want := range map[string]string{
				"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
				"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
				"Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got.Header().Get(name) != want {
					t.Errorf("%s: %d with %s: %q", path, got.Code, name, got.Header().Get(name))
				}
			}
		}
	}
}

func TestConsoleIsReadOnly(t *testing.T) {
	k := newKit(t)
	for _, path := range []string{"/", "/api/state", "/api/topology", "/api/config", "/api/why",
		"/api/stream", "/healthz"} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			if got := k.ask(method, path); got.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, got.Code)
			}
		}
	}
}
