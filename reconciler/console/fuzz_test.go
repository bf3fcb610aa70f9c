package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
)

// played is a console with a channel, which may test connections. Every connection fails.
type played struct {
	*kit
	dialled []string
}

func newPlayed(t testing.TB, edits ...func(*Options)) *played {
	t.Helper()
	p := &played{}
	p.kit = newKit(t, append(edits, func(o *Options) {
		o.Actions = true
		o.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
			p.dialled = append(p.dialled, address)
			return nil, errors.New("connection refused")
		}
	})...)
	p.channel("web")
	return p
}

// guest disconnects after a stream's beginning.
type guest struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (l guest) Flush() { l.leave() }

// serve answers a request, and checks rules for every answer.
func (p *played) serve(t *testing.T, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.dialled = nil
	r.RemoteAddr = "192.0.2.1:1"
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(guest{w, cancel}, r.WithContext(ctx))
	if w.Code == http.StatusUnauthorized || len(p.dialled) > 0 {
		p.pass(max(wrongPause, tryPause)) // otherwise the throttle would refuse all requests
	}
	if w.Code >= 500 || w.Header().Get("Content-Security-Policy") != policy {
		t.Errorf("status %d, policy %q: %s", w.Code, w.Header().Get("Content-Security-Policy"), w.Body)
	}
	if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
		t.Errorf("no JSON: %q", w.Body)
	}
	checkRedirect(t, w.Header().Get("Location"))
	if len(p.dialled) > 0 {
		p.checkDial(t, r, w.Code)
	}
	return w
}

// checkRedirect fails if a redirect leads to another site. Browsers treat \ like /.
func checkRedirect(t *testing.T, location string) {
	t.Helper()
	here := &url.URL{Scheme: "http", Host: "here", Path: "/"}
	to, err := here.Parse(strings.ReplaceAll(location, `\`, "/"))
	if err != nil || to.Host != "here" {
		t.Errorf("redirect to %q: %v", location, err)
	}
}

// checkDial allows a connection only for a request of the console's own page, and only to an address of the topology.
func (p *played) checkDial(t *testing.T, r *http.Request, status int) {
	t.Helper()
	if r.Method != http.MethodPost || r.URL.Path != "/api/test-tcp" || status != http.StatusOK || len(p.dialled) != 1 {
		t.Errorf("%s %s: %d, but %q are dialled", r.Method, r.URL.Path, status, p.dialled)
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	scheme, host, _ := strings.Cut(origin, "://")
	if kind != "application/json" || site != "" && site != "same-origin" || origin != "" &&
		(host != r.Host || scheme == "") {
		t.Errorf("%q is dialled for %q of %q from %q (%q)", p.dialled, kind, r.Host, origin, site)
	}
	if !slices.Contains(p.destinations(t), p.dialled[0]) {
		t.Errorf("the topology doesn't have %q", p.dialled)
	}
}

// destinations returns all addresses in the topology.
func (p *played) destinations(t *testing.T) []string {
	t.Helper()
	var topology view.Topology
	if err := json.Unmarshal(p.ask("GET", "/api/topology", basic("", "open sesame")).Body.Bytes(), &topology); err != nil {
		t.Fatal(err)
	}
	var all []string
	at := func(address string, port int32) {
		all = append(all, net.JoinHostPort(address, strconv.Itoa(int(port))))
	}
	for _, mux := range topology.Muxes {
		for _, track := range mux.Ports {
			for _, address := range mux.Addresses {
				at(address, track.Number)
			}
			for _, backend := range track.Backends {
				at(backend.Address, backend.Port)
			}
		}
	}
	return all
}

// FuzzRequest reads any request off the wire. A request without the token must be challenged or refused. Without a
// configured token, that holds for a request that names this machine by a foreign name. Only the health check is always
// answered.
func FuzzRequest(f *testing.F) {
	golden.Seeds(f)
	const to = " HTTP/1.1\r\nHost: localhost:8080\r\n"
	token := "Authorization: Bearer open sesame\r\n"
	body := `{"address":"192.0.2.7","port":80}`
	post := "POST /api/test-tcp" + to + token + "Content-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n"
	for _, text := range []string{
		"GET /" + to + "\r\n", "GET /main.js" + to + token + "\r\n", "GET /api/state" + to + token + "\r\n",
		"GET //x/../healthz" + to + "\r\n",
		"GET /api/why?service=shop/web" + to + token + "\r\n", "GET /api/stream" + to + token + "Last-Event-ID: 1\r\n\r\n",
		"GET /index.html" + to + token + "\r\n", "HEAD /api/topology" + to + token + "Range: bytes=0-1\r\n\r\n",
		"OPTIONS *" + to + "\r\n",
		"GET /healthz HTTP/1.0\r\n\r\n", "CONNECT evil.example.com:443 HTTP/1.1\r\nHost: evil.example.com\r\n\r\n",
		"GET /%5cevil.example.com/.. HTTP/1.1\r\nHost: x\r\nAuthorization: Basic OnNlc2FtZQ==\r\n\r\n",
		post + "\r\n" + body, post + "Origin: http://localhost:8080\r\n\r\n" + body, post +
			"Origin: http://evil.example.com\r\n\r\n" + body,
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	with, without := newPlayed(f, withToken), newPlayed(f)
	f.Fuzz(func(t *testing.T, text []byte, guarded bool) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		p, refusal := without, http.StatusForbidden
		if guarded {
			p, refusal = with, http.StatusUnauthorized
		}
		healthy := r.Method != http.MethodPost && r.URL.Path == "/healthz"
		admitted := guarded && carries(r.Header.Get("Authorization"), "open sesame") || !guarded && isHere(r.Host)
		w := p.serve(t, r)
		if admitted || healthy {
			return
		}
		// A request without a path is invalid, and a path that can be shortened is redirected.
		nowhere := w.Code == http.StatusNotFound && r.URL.Path == "" || w.Code == http.StatusBadRequest && r.RequestURI == "*"
		moved := w.Code == http.StatusMovedPermanently || w.Code == http.StatusTemporaryRedirect
		if w.Code != refusal && !moved && !nowhere || len(p.dialled) > 0 {
			t.Errorf("status %d, %q dialled for a request that must be refused: %s", w.Code, p.dialled, w.Body)
		}
		if strings.Contains(w.Body.String()+w.Header().Get("Location"), "web") && !strings.Contains(string(text), "web") {
			t.Errorf("a refused request gets data: %s", w.Body)
		}
	})
}
