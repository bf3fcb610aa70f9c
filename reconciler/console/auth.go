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

// loopbackSuffix ends names that browsers take for this machine whatever a name server says.
const loopbackSuffix = ".localhost"

// admit lets requests through that may look: with the token, or with one that the API server knows. Where neither is asked for,
// it lets requests through that came to this machine itself under a name that nobody else can give it: after DNS rebinding, a
// foreign page has another name.
func (s *server) admit(next http.Handler) http.Handler {
	if s.Token == "" && s.reviews == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !isLoopback(r.Host) {
				s.metrics.refused.WithLabelValues("host").Inc()
				http.Error(w, fmt.Sprintf("this console has no token, so it answers only as localhost, not as %q: set "+
					"DEBUG_WEB_AUTH_TOKEN to reach it under other names", r.Host), http.StatusForbidden)
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
		if offered && s.reviews != nil && s.reviews.isAdmitted(given, acts(r)) {
			next.ServeHTTP(w, r) // whatever others behind the same address have offered
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
		opinion, err := judge(r.Context(), given, acts(r))
		switch {
		case err != nil:
			s.metrics.refused.WithLabelValues("unreviewed").Inc()
			s.Log.Error(err, "can't have a token reviewed")
			w.Header().Set("Retry-After", "2")
			http.Error(w, "the API server doesn't answer whose token this is: try again", http.StatusServiceUnavailable)
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

// acts is true for a request that does more than look.
func acts(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// judgeToken compares with the one token that there is.
func (s *server) judgeToken(_ context.Context, given string, _ bool) (Opinion, error) {
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.Token)) // of one length, whatever was given
	is := subtle.ConstantTimeCompare(got[:], want[:]) == 1
	return Opinion{Known: is, Allowed: is}, nil
}

// refuse asks for the token. To have none yet is what every browser begins with, and isn't held against it.
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
	http.Error(w, "this console asks for "+which+": as the password of any user, or as Authorization: Bearer", http.StatusUnauthorized)
}

// failurePause is how long the answer to a wrong token takes.
const failurePause = 300 * time.Millisecond

// tokenOf is what a request offers: the password of any user, or a bearer token.
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

// isLoopback is true for names and addresses that are this machine's own. What has more in it than names have may be read
// as another one by somebody before us.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || strings.HasSuffix(host, loopbackSuffix) && !strings.ContainsFunc(host, isNoLetter) {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// isNoLetter is true for what isn't in the name of any machine, in small letters.
func isNoLetter(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-._", r)
}

// clientOf is the address that a request came from. What a proxy says of it is its word alone, and isn't asked for.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
