package console

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// carries returns whether a header carries a token, in either of the two schemes.
func carries(authorization, token string) bool {
	scheme, rest, _ := strings.Cut(authorization, " ")
	switch strings.ToLower(scheme) {
	case "bearer":
		return strings.TrimSpace(rest) == token
	case "basic":
		plain, err := base64.StdEncoding.DecodeString(rest)
		_, password, found := strings.Cut(string(plain), ":")
		return err == nil && found && password == token
	}
	return false
}

var (
	hereByName = regexp.MustCompile(`(?i)\A\[?([^:/\[\]@?#\\]*\.)?localhost\]?(:[^:\[\]]*)?\z`)
	hereFully  = regexp.MustCompile(`\A(([a-z0-9-]+\.)*localhost|127(\.[1-9][0-9]?){3}|\[::1\])(:[0-9]+)?\z`)
)

// isHere returns whether a host names only this machine.
func isHere(host string) bool {
	if hereByName.MatchString(host) {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host, _, _ = strings.Cut(strings.Trim(host, "[]"), "%")
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// FuzzHost checks which hosts count as this machine.
func FuzzHost(f *testing.F) {
	golden.Seeds(f)
	for _, host := range []string{
		"localhost", "LOCALHOST:8080", "a.localhost:1", "127.0.0.1:8080", "[::1]:8080", "::1", "[::ffff:127.0.0.1]",
		"localhost.example.com", "10.0.0.1", "127.1", "[::1%lo]:1", "localhost.", "evil.example.com:80:.localhost",
		"[localhost]", "", ":8080", "0.0.0.0:8080",
	} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if isLoopback(host) && !isHere(host) {
			t.Errorf("%q counts as this machine", host)
		}
		if hereFully.MatchString(host) && !isLoopback(host) {
			t.Errorf("%q doesn't count as this machine", host)
		}
	})
}

// FuzzToken sends tokens in every way. Only the right one is accepted, and the answer to a wrong one is delayed.
func FuzzToken(f *testing.F) {
	golden.Seeds(f)
	f.Add("open sesame", "admin", "open sesame", "Bearer open sesame")
	f.Add("a:b", "", "b", "basic OmE6Yg==")
	f.Add(" a ", "a:b", "a", "Bearer  a ")
	f.Add("\xff", "\x00", "", "Basic Og")
	f.Add("x", "x", "X", "Bearer")
	s := newKit(f, withToken).server
	f.Fuzz(func(t *testing.T, token, user, given, authorization string) {
		if token == "" {
			return
		}
		s := &server{Options: &Options{Token: token, Now: s.Now}, throttle: newThrottle(), metrics: s.metrics}
		var paused time.Duration
		s.pause = func(_ context.Context, span time.Duration) { paused += span }
		in := false
		handler := s.admit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { in = true }))
		offer := func(authorization string) bool {
			in, paused = false, 0
			r, w := &http.Request{RemoteAddr: "192.0.2.1:1", Header: http.Header{"Authorization": {authorization}}},
				httptest.NewRecorder()
			handler.ServeHTTP(w, r.WithContext(t.Context()))
			if in != (w.Code == http.StatusOK) || in && paused != 0 || paused != 0 && paused != failurePause {
				t.Errorf("accepted: %v, status %d after %s", in, w.Code, paused)
			}
			return in
		}
		if got := offer(authorization); got != carries(authorization, token) {
			t.Errorf("%q for %q: accepted: %v", authorization, token, got)
		}
		if got, want := offer("Bearer "+given), strings.TrimSpace(given) == token; got != want || !got && paused == 0 {
			t.Errorf("bearer %q for %q: accepted: %v, after %s", given, token, got, paused)
		}
		if strings.Contains(user, ":") {
			return // the rest would become the password
		}
		encode := func(password string) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
		}
		if got := offer(encode(given)); got != (given == token) || !got && paused == 0 {
			t.Errorf("%q with %q for %q: accepted: %v, after %s", user, given, token, got, paused)
		}
		if !offer(encode(token)) {
			t.Errorf("%q isn't accepted with %q", user, token)
		}
	})
}
