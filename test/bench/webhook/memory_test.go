package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/certs/certstest"
	"nowake.ai/svc-lb-mux/test/bench/figure"
	"nowake.ai/svc-lb-mux/webhook"
)

const (
	senders = 100 // with one connection each
	// inFlight is the number of concurrent reviews. The webhook allows eight on each connection.
	inFlight = 8 * senders
)

// serverEnv turns this test binary into a webhook, in order to measure its memory separately. Its value is the
// certificate's folder. The addresses are arguments.
const serverEnv = "SVC_LB_MUX_BENCH_WEBHOOK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverEnv); dir != "" {
		os.Exit(serve(dir, os.Args[1], os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

// serve runs the webhook, and a page that returns the memory in use after garbage collection.
func serve(certDir, address, probeAddress, memoryAddress string) int {
	options := webhook.DefaultOptions(func(string) string { return "" })
	options.DefaultMuxNamespace, options.CertDir = "svc-mux", certDir
	options.Address, options.ProbeAddress = address, probeAddress
	go func() {
		fmt.Fprintln(os.Stderr, http.ListenAndServe(memoryAddress, http.HandlerFunc(memoryPage)))
	}()
	if err := webhook.Run(context.Background(), options, "bench", os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func memoryPage(w http.ResponseWriter, _ *http.Request) {
	runtime.GC()
	runtime.GC() // sync.Pool drops its objects at the second collection
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Fprint(w, memory.HeapAlloc+memory.StackInuse)
}

// BenchmarkManyInFlight holds 800 reviews before their last bytes, over TLS, and compares the process's memory before
// and after.
func BenchmarkManyInFlight(b *testing.B) {
	s := newServer(b)
	body := review(b, channel(1))
	s.round(b, body, inFlight) // Go keeps 400 bytes per ended goroutine for reuse, so only the first round allocates them
	for b.Loop() {
		before := s.memory(b)
		peak := s.round(b, body, inFlight)
		after := s.memory(b)
		const mib = 1 << 20
		figure.Against(os.Stdout, "webhook/memory-after-800-in-flight", after/mib, "MiB", before/mib, 1.2)
		figure.AtMost(os.Stdout, "webhook/memory-of-one-in-flight", (peak-before)/inFlight/1024, "KiB", 64)
	}
}

// server is a webhook in its own process.
type server struct {
	address, url, memoryURL string
	pid                     int
	pool                    *x509.CertPool
	clients                 []*http.Client
}

func newServer(b testing.TB, environment ...string) *server {
	b.Helper()
	authority, volume := certstest.NewAuthority(b), certstest.NewVolume(b)
	volume.Put(b, authority.Pair(b, time.Now().Add(time.Hour)))
	address, probeAddress, memoryAddress := freeAddress(b), freeAddress(b), freeAddress(b)
	cmd := exec.Command(os.Args[0], address, probeAddress, memoryAddress)
	cmd.Env = append(append(os.Environ(), serverEnv+"="+volume.Dir), environment...)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	awaitReady(b, "http://"+probeAddress+webhook.ReadyPath)

	s := &server{
		address: address, url: "https://" + address + webhook.Path, memoryURL: "http://" + memoryAddress,
		pid: cmd.Process.Pid, pool: authority.Pool(),
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	for range senders {
		s.clients = append(s.clients, &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: authority.Pool()}, Protocols: protocols,
		}})
	}
	return s
}

func freeAddress(b testing.TB) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func awaitReady(b testing.TB, url string) {
	b.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		response, err := http.Get(url)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			b.Fatalf("the webhook doesn't become ready: %v", err)
		}
	}
}

// memory returns the size of heap and stacks without garbage.
func (s *server) memory(b *testing.B) float64 {
	b.Helper()
	response, err := http.Get(s.memoryURL)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	bytes, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// round sends reviews without their last bytes, measures the memory, sends the last bytes, and returns the measured
// memory.
func (s *server) round(b *testing.B, body []byte, count int) (peak float64) {
	b.Helper()
	for _, client := range s.clients { // open each connection first: concurrent requests would open a connection each
		s.send(b, client, bytes.NewReader(body), len(body))
	}
	var sent, asked sync.WaitGroup
	sent.Add(count)
	end := make(chan struct{})
	for i := range count {
		asked.Go(func() {
			done := sync.OnceFunc(sent.Done)
			defer done() // a review that failed to send is never held
			held := &heldBody{body: bytes.NewReader(body), hold: len(body) - 10, held: done, end: end}
			s.send(b, s.clients[i%len(s.clients)], held, len(body))
		})
	}
	sent.Wait()
	peak = s.memory(b)
	close(end)
	asked.Wait()
	for _, client := range s.clients {
		client.CloseIdleConnections()
	}
	time.Sleep(2 * time.Second) // the server notices the closed connections and frees them
	return peak
}

func (s *server) send(b testing.TB, client *http.Client, body io.Reader, size int) {
	request, err := http.NewRequest(http.MethodPost, s.url, body)
	if err != nil {
		b.Error(err)
		return
	}
	request.ContentLength = int64(size)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		b.Errorf("sending a review fails: %v", err)
		return
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || !bytes.Contains(text, []byte(`"allowed":true`)) {
		b.Errorf("the answer to a review is %d %s, %v", response.StatusCode, text, err)
	}
}

// heldBody returns its data without the last bytes, and returns those once it is released.
type heldBody struct {
	body *bytes.Reader
	hold int
	held func()
	end  <-chan struct{}
}

func (h *heldBody) Read(p []byte) (int, error) {
	if h.hold > 0 {
		n, err := h.body.Read(p[:min(len(p), h.hold)])
		h.hold -= n
		return n, err
	}
	if h.held != nil {
		h.held()
		h.held = nil
		<-h.end
	}
	return h.body.Read(p)
}
