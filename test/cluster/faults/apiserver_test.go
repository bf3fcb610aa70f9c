package faults

import (
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// apiServer plays an API server as far as a proxy can tell. It answers every request with a Service, records the
// requests, and streams events to watches.
type apiServer struct {
	*httptest.Server
	// answer, if set, answers every request instead.
	answer http.HandlerFunc

	mu      sync.Mutex
	made    []*http.Request
	watches map[chan event]string // watch to the media type it asked for
	opened  chan struct{}         // gets a value per watch
}

// event is the name of a Service that a watch streams. An empty name ends the stream.
type event string

func startAPIServer(t *testing.T, configure ...func(*httptest.Server)) *apiServer {
	t.Helper()
	server := &apiServer{watches: map[chan event]string{}, opened: make(chan struct{}, 100)}
	server.Server = httptest.NewUnstartedServer(server)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // these tests cut connections all the time
	for _, change := range configure {
		change(server.Server)
	}
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// config returns the configuration of an administrator with a token.
func (s *apiServer) config() *rest.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &rest.Config{Host: s.URL, BearerToken: "admin", TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.made = append(s.made, r)
	s.mu.Unlock()
	switch {
	case s.answer != nil:
		s.answer(w, r)
	case parse(r.Method, r.URL).Verb == "watch":
		s.watch(w, r)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Service","apiVersion":"v1","metadata":{"name":"web"}}`)
	}
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request) {
	media := "application/json"
	if strings.Contains(r.Header.Get("Accept"), "protobuf") {
		media = "application/vnd.kubernetes.protobuf;stream=watch"
	}
	events := make(chan event, 1000)
	s.mu.Lock()
	s.watches[events] = media
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watches, events)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", media)
	w.(http.Flusher).Flush()
	s.opened <- struct{}{}
	for {
		select {
		case <-r.Context().Done():
			return
		case name := <-events:
			if name == "" {
				return
			}
			_, _ = w.Write(frameOf(media, string(name)))
			w.(http.Flusher).Flush()
		}
	}
}

// send streams events to all watches.
func (s *apiServer) send(names ...event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for events := range s.watches {
		for _, name := range names {
			events <- name
		}
	}
}

// requests returns the methods and paths of the requests that reached the server.
func (s *apiServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := []string{}
	for _, request := range s.made {
		lines = append(lines, request.Method+" "+request.URL.Path)
	}
	return lines
}

// last returns the last request that reached the server.
func (s *apiServer) last() *http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.made)[len(s.made)-1]
}

func frameOf(media, name string) []byte {
	if media == "application/json" {
		return fmt.Appendf(nil,
			`{"type":"ADDED","object":{"kind":"Service","apiVersion":"v1","metadata":{"name":%q}}}`+"\n", name)
	}
	service := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
	raw, _ := service.Marshal()
	wrapped := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Service"}, Raw: raw}
	object, _ := wrapped.Marshal()
	object = append([]byte(protobufMagic), object...)
	frame, _ := (&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: object}}).Marshal()
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
}

func startProxy(t *testing.T, upstream *rest.Config, choices ...Option) *Proxy {
	t.Helper()
	proxy, err := Start(upstream, choices...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return proxy
}

func clientOf(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// startAll starts an API server, a proxy to it, and a client of the proxy.
func startAll(t *testing.T, choices ...Option) (*apiServer, *Proxy, *kubernetes.Clientset) {
	t.Helper()
	server := startAPIServer(t)
	proxy := startProxy(t, server.config(), choices...)
	return server, proxy, clientOf(t, proxy.Config())
}
