package faults

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// do sends one request without a Kubernetes client, which would retry.
func do(t *testing.T, config *rest.Config, method, path string, headers http.Header, body []byte) *http.Response {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = headers
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestRequestAndAnswerPassUnchanged(t *testing.T) {
	for name, version := range map[string]int{"over HTTP/2": 2, "over HTTP/1.1": 1} {
		t.Run(name, func(t *testing.T) {
			server := startAPIServer(t, func(s *httptest.Server) { s.EnableHTTP2 = version == 2 })
			var zipped bytes.Buffer
			writer := gzip.NewWriter(&zipped)
			_, _ = writer.Write([]byte("an answer")) // writes to memory can't fail
			_ = writer.Close()
			var body []byte
			server.answer = func(w http.ResponseWriter, r *http.Request) {
				body, _ = io.ReadAll(r.Body)
				w.Header().Set("Content-Encoding", "gzip")
				w.Header().Set("Warning", `299 - "old"`)
				w.WriteHeader(http.StatusTeapot)
				_, _ = w.Write(zipped.Bytes())
			}
			proxy := startProxy(t, server.config())
			headers := http.Header{
				"Accept-Encoding": {"gzip"},
				"Accept":          {"application/vnd.kubernetes.protobuf"},
				"Content-Type":    {"application/apply-patch+yaml"},
				"User-Agent":      {"a client"},
			}
			response := do(t, proxy.Config(), "PATCH", "/api/v1/namespaces/a/services/web?fieldManager=x&force=true", headers,
				[]byte("a body"))
			got, err := io.ReadAll(response.Body)
			if err != nil || !bytes.Equal(got, zipped.Bytes()) || response.StatusCode != http.StatusTeapot ||
				response.Header.Get("Warning") != `299 - "old"` {
				t.Errorf("answer %v %q, error %v", response, got, err)
			}
			upstream := server.last()
			for header := range headers {
				if upstream.Header.Get(header) != headers.Get(header) {
					t.Errorf("header %s: %q arrived as %q", header, headers.Get(header), upstream.Header.Get(header))
				}
			}
			if string(body) != "a body" || upstream.URL.RawQuery != "fieldManager=x&force=true" {
				t.Errorf("body %q, query %q", body, upstream.URL.RawQuery)
			}
			if upstream.ProtoMajor != version {
				t.Errorf("protocol %s", upstream.Proto)
			}
		})
	}
}

func TestWatchesAreRequestedUncompressed(t *testing.T) {
	server, proxy, _ := startAll(t)
	do(t, proxy.Config(), "GET", "/api/v1/services?watch=true", http.Header{"Accept-Encoding": {"gzip"}}, nil)
	if got := server.last().Header.Get("Accept-Encoding"); got != "" {
		t.Errorf("the upstream request accepts the encoding %q", got)
	}
}

func TestTheUpstreamsOwnDialIsUsed(t *testing.T) {
	server := startAPIServer(t)
	config := server.config()
	var dialled atomic.Int32
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		dialled.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	config.Host = "https://192.0.2.1:6443" // an address that doesn't exist
	config.ServerName = "example.com"      // the name in httptest's certificate
	proxy := startProxy(t, config)
	if err := get(t.Context(), clientOf(t, proxy.Config())); err != nil {
		t.Fatal(err)
	}
	if dialled.Load() != 1 {
		t.Errorf("dialled %d times, want once", dialled.Load())
	}
}

func TestMissingUpstreamClosesTheConnection(t *testing.T) {
	server, proxy, client := startAll(t, Label("me"))
	server.Close()
	if err := patchStatus(t.Context(), client); !isDropped(err) {
		t.Errorf("the client got %v", err)
	}
	if log := proxy.Log(); len(log) != 1 || log[0].Err == nil || log[0].Made {
		t.Errorf("log: %v", log)
	}
}

func TestAnUpgradedConnectionPasses(t *testing.T) {
	server := startAPIServer(t)
	server.answer = echoOnce(t)
	stream := tunnel(t, startProxy(t, server.config()))
	if _, err := io.WriteString(stream, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stream).ReadString('\n'); line != "echo hello\n" {
		t.Errorf("read %q, error %v", line, err)
	}
}

// echoOnce hijacks a connection, and sends one line back.
func echoOnce(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer connection.Close()
		fmt.Fprint(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
		line, _ := buffered.ReadString('\n')
		fmt.Fprint(connection, "echo "+line)
	}
}

// tunnel opens a tunnel as kubectl exec does.
func tunnel(t *testing.T, proxy *Proxy) io.ReadWriter {
	t.Helper()
	config := proxy.Config()
	config.NextProtos = []string{"http/1.1"}
	response := do(t, config, "POST", "/api/v1/namespaces/a/pods/p/exec",
		http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}, nil)
	stream, ok := response.Body.(io.ReadWriter)
	if response.StatusCode != http.StatusSwitchingProtocols || !ok {
		t.Fatalf("answer %v", response)
	}
	return stream
}

func TestDisconnectedClientCanReconnect(t *testing.T) {
	for name, choices := range map[string][]Option{
		"over HTTP/2":   nil,
		"over HTTP/1.1": {HTTP1()},
	} {
		t.Run(name, func(t *testing.T) {
			_, proxy, client := startAll(t, choices...)
			hold := proxy.Pause(Match{Verbs: Writes()})
			done := make(chan error, 1)
			go func() { done <- patchStatus(t.Context(), client) }()
			if err := hold.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			proxy.Disconnect()
			if err := <-done; !isDropped(err) {
				t.Errorf("the client got %v", err)
			}
			hold.Release()
			if err := patchStatus(t.Context(), client); err != nil {
				t.Errorf("after: %v", err)
			}
		})
	}
}

// TestCutConnectionsRequestIsNeverMade cuts connections before OnWrite makes a write. OnWrite makes a write even if its
// client disconnects, but not after Disconnect: the client may be dead by then.
func TestCutConnectionsRequestIsNeverMade(t *testing.T) {
	server, proxy, client := startAll(t)
	proxy.OnWrite(func(step Step) {
		if step.Phase == Before {
			proxy.Disconnect()
		}
	})
	if err := patchStatus(t.Context(), client); !isDropped(err) {
		t.Errorf("the client got %v", err)
	}
	if err := proxy.Quiet(t.Context(), 20*time.Millisecond, nil); err != nil {
		t.Fatal(err)
	}
	if made := server.requests(); len(made) != 0 {
		t.Errorf("made requests: %v, want none", made)
	}
}

func TestDropOverHTTP1ClosesTheConnection(t *testing.T) {
	_, proxy, client := startAll(t, HTTP1())
	proxy.Add(Rule{Times: 1, Do: Drop()})
	err := patchStatus(t.Context(), client)
	if !errors.Is(err, io.EOF) {
		t.Errorf("the client got %v", err)
	}
	if err := patchStatus(t.Context(), client); err != nil {
		t.Errorf("after: %v", err)
	}
}

func TestClientDisconnectEndsTheUpstreamRequest(t *testing.T) {
	server := startAPIServer(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	left := make(chan struct{})
	server.answer = func(_ http.ResponseWriter, r *http.Request) {
		leave()
		<-r.Context().Done()
		close(left)
	}
	proxy := startProxy(t, server.config())
	if err := get(ctx, clientOf(t, proxy.Config())); err == nil {
		t.Error("the request was answered")
	}
	select {
	case <-left:
	case <-time.After(5 * time.Second):
		t.Error("the upstream request still runs")
	}
}
