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

func TestWhoIsLetIn(t *testing.T) {
	for name, tc := range map[string]struct {
		token  bool
		path   string
		as     func(*http.Request)
		status int
		reason string // that it is counted under
	}{
		"nobody without the token":                      {true, "/api/state", host("mux.example.com"), 401, ""},
		"nobody gets the page without it":               {true, "/", host("mux.example.com"), 401, ""},
		"nobody gets a part of the page":                {true, "/main.js", host("mux.example.com"), 401, ""},
		"any user with the token":                       {true, "/api/state", basic("admin", "open sesame"), 200, ""},
		"nobody in particular with the token":           {true, "/api/state", basic("", "open sesame"), 200, ""},
		"the bearer of the token":                       {true, "/api/state", header("Authorization", "Bearer open sesame"), 200, ""},
		"a bearer in small letters":                     {true, "/api/state", header("Authorization", "bearer open sesame"), 200, ""},
		"nobody with another token":                     {true, "/api/state", header("Authorization", "Bearer open"), 401, "token"},
		"nobody with the token as a user":               {true, "/api/state", basic("open sesame", ""), 401, "token"},
		"nobody with an empty one":                      {true, "/api/state", header("Authorization", "Bearer "), 401, "token"},
		"nobody with another scheme":                    {true, "/api/state", header("Authorization", "Digest open sesame"), 401, ""},
		"whoever asks whether it is well":               {true, "/healthz", host("mux.example.com"), 200, ""},
		"this machine, where there is no token":         {false, "/api/state", host("localhost:8080"), 200, ""},
		"this machine by its address":                   {false, "/api/state", host("127.0.0.1:8080"), 200, ""},
		"this machine by its newer address":             {false, "/api/state", host("[::1]:8080"), 200, ""},
		"a name that was turned into this machine's":    {false, "/api/state", host("evil.example.com:8080"), 403, "host"},
		"a name that looks like it":                     {false, "/api/state", host("localhost.example.com"), 403, "host"},
		"a name that ends like it":                      {false, "/api/state", host("evil.example.com:80:.localhost"), 403, "host"},
		"an address elsewhere, where there is no token": {false, "/", host("10.0.0.1:8080"), 403, "host"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, func(o *Options) {
				if tc.token {
					withToken(o)
				}
			})
			got := k.ask("GET", tc.path, tc.as)
			if got.Code != tc.status {
				t.Errorf("status %d, not %d: %s", got.Code, tc.status, got.Body)
			}
			if challenged := len(got.Header()["Www-Authenticate"]) == 2; challenged != (tc.status == 401) {
				t.Errorf("it asks with %q", got.Header()["Www-Authenticate"])
			}
			if tc.reason != "" && k.refusals(t, tc.reason) != 1 {
				t.Errorf("it isn't counted as %q", tc.reason)
			}
		})
	}
}

func TestWhoGuessesIsSlowedDown(t *testing.T) {
	k := newKit(t, withToken)
	var paused time.Duration
	k.server.pause = func(_ context.Context, span time.Duration) { paused += span }
	for range wrongInARow {
		if got := k.ask("GET", "/", basic("", "guess"), from("192.0.2.1:1")); got.Code != 401 {
			t.Fatalf("status %d", got.Code)
		}
	}
	if paused != wrongInARow*failurePause {
		t.Errorf("it took %s", paused)
	}
	if got := k.ask("GET", "/", basic("", "open sesame"), from("192.0.2.1:1")); got.Code != 429 || got.Header().Get("Retry-After") == "" {
		t.Errorf("after %d wrong ones, the right one is listened to: %d", wrongInARow, got.Code)
	}
	if got := k.ask("GET", "/", basic("", "open sesame"), from("192.0.2.2:1")); got.Code != 200 {
		t.Errorf("somebody else is held up, too: %d", got.Code)
	}
	k.pass(wrongPause)
	if got := k.ask("GET", "/", basic("", "open sesame"), from("192.0.2.1:1")); got.Code != 200 {
		t.Errorf("after a while it is still held up: %d", got.Code)
	}
	for i := range 2 * maxSenders {
		k.server.throttle.failed(string(rune('a'+i)), k.now())
	}
	if n := len(k.server.throttle.from); n > maxSenders+1 {
		t.Errorf("it remembers %d addresses", n)
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

func TestItOnlyShows(t *testing.T) {
	k := newKit(t)
	for _, path := range []string{"/", "/api/state", "/api/topology", "/api/config", "/api/why", "/api/stream", "/healthz"} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			if got := k.ask(method, path); got.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, got.Code)
			}
		}
	}
}
