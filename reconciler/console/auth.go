package console

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// loopbackSuffix is the suffix of names that browsers always resolve to this machine.
const loopbackSuffix = ".localhost"

// admit lets authorised requests through: those with the console's token, or with a token that the API server accepts.
// If the console checks no tokens, it listens on loopback only, and admit lets through the requests that name this
// machine by a loopback name. The request of a foreign page that uses DNS rebinding has another name.
func (s *server) admit(next http.Handler) http.Handler {
	if s.Token == "" && s.reviews == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !isLoopback(r.Host) {
				s.metrics.refused.WithLabelValues("host").Inc()
				http.Error(w, fmt.Sprintf("this console has no token, so it answers only as localhost, not as %q: set "+
					"DEBUG_WEB_AUTH_TOKEN to reach it by other names", r.Host), http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	judge := s.judgeToken
	if s.reviews != nil {
		judge = s.reviews.judge
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := senderOf(clientOf(r))
		given, offered := tokenOf(r)
		if offered && s.reviews != nil && s.reviews.isAdmitted(given, isAction(r)) {
			next.ServeHTTP(w, r) // even if this address has offered wrong tokens
			return
		}
		if !s.throttle.mayTry(from, s.Now()) {
			s.metrics.refused.WithLabelValues("throttled").Inc()
			w.Header().Set("Retry-After", "5")
			http.Error(w, "too many wrong tokens from your address: wait a few seconds", http.StatusTooManyRequests)
			return
		}
		if !offered {
			s.refuse(w, r, from, false)
			return
		}
		opinion, err := judge(r.Context(), given, isAction(r))
		switch {
		case err != nil:
			s.metrics.refused.WithLabelValues("unreviewed").Inc()
			s.Log.Error(err, "the API server can't review a token")
			w.Header().Set("Retry-After", "2")
			http.Error(w, "the API server can't check this token now: try again", http.StatusServiceUnavailable)
		case !opinion.Known:
			s.refuse(w, r, from, true)
		case !opinion.Allowed:
			s.metrics.refused.WithLabelValues("forbidden").Inc()
			http.Error(w, opinion.Why, http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isAction says that the request does more than read.
func isAction(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// judgeToken compares with the console's token.
func (s *server) judgeToken(_ context.Context, given string, _ bool) (Opinion, error) {
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.Token)) // hashes have equal lengths
	is := subtle.ConstantTimeCompare(got[:], want[:]) == 1
	return Opinion{Known: is, Allowed: is}, nil
}

// refuse asks for a token. A request without one doesn't count as a failure: every browser starts that way.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, from string, offered bool) {
	if offered {
		s.metrics.refused.WithLabelValues("token").Inc()
		s.throttle.failed(from, s.Now())
		s.pause(r.Context(), failurePause)
	}
	w.Header().Add("WWW-Authenticate", `Basic realm="svc-lb-mux console", charset="UTF-8"`)
	w.Header().Add("WWW-Authenticate", `Bearer realm="svc-lb-mux console"`)
	which := "its token"
	if s.reviews != nil {
		which = "a token of this cluster (kubectl create token)"
	}
	http.Error(w, "this console asks for "+which+": as the password of any user, or as Authorization: Bearer",
		http.StatusUnauthorized)
}

// failurePause delays the answer to a wrong token.
const failurePause = 300 * time.Millisecond

// tokenOf returns the token of a request: the password of any user, or a bearer token.
func tokenOf(r *http.Request) (string, bool) {
	if _, password, ok := r.BasicAuth(); ok {
		return password, true
	}
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token), true
	}
	return "", false
}

// isLoopback says that the host is a name or address of this machine. It refuses unusual characters, since a proxy or
// browser could read such a host as another one.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || strings.HasSuffix(host, loopbackSuffix) && !strings.ContainsFunc(host, isNotInName) {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// isNotInName says that the character can't be in a lower-case host name.
func isNotInName(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-._", r)
}

// clientOf returns the address that the connection came from. It ignores headers of proxies: anyone can send them.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
