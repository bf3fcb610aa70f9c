package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/certs/certstest"
)

// running is a process that serves, as in a pod with a Secret volume.
type running struct {
	*process
	authority *certstest.Authority
	volume    *certstest.Volume
	logs      *safeBuffer
	stop      context.CancelFunc // as SIGTERM does
	ended     chan error
	release   chan struct{}
	inside    atomic.Int64 // number of open reviews
}

type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func testOptions(volume *certstest.Volume) Options {
	options := DefaultOptions(func(string) string { return "" })
	options.DefaultMuxNamespace, options.CertDir = "svc-mux", volume.Dir
	options.Address, options.ProbeAddress = "127.0.0.1:0", "127.0.0.1:0"
	options.CertInterval, options.DrainDelay, options.DrainTimeout = 10*time.Millisecond, 0, 10*time.Second
	return options
}

// start runs a process. prepare may change its options, fill its volume, and set release. If release isn't nil, the
// delay of a drain lasts until the test closes release, whatever the options say.
func start(t *testing.T, prepare func(*running, *Options)) *running {
	t.Helper()
	r := &running{
		authority: certstest.NewAuthority(t), volume: certstest.NewVolume(t), logs: &safeBuffer{}, ended: make(chan error, 1),
	}
	options := testOptions(r.volume)
	prepare(r, &options)
	p, err := newProcess(options, "v0-test", r.logs)
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	if r.release != nil {
		p.sleep = func(time.Duration) { <-r.release }
	}
	r.process = p
	reviews := p.admission.http.Handler
	p.admission.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.inside.Add(1)
		defer r.inside.Add(-1)
		reviews.ServeHTTP(w, req)
	})
	go func() { r.ended <- p.run(ctx) }()
	t.Cleanup(r.stop)
	return r
}

func withCertificate(t *testing.T) func(*running, *Options) {
	return func(r *running, _ *Options) { r.volume.Put(t, r.authority.Pair(t, time.Now().Add(time.Hour))) }
}

func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("the process ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the process doesn't end")
	}
}

// probe requests a path from the plain HTTP port.
func (r *running) probe(t *testing.T, path string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + r.probes.listener.Addr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (r *running) awaitReady(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		code, text := r.probe(t, ReadyPath)
		if code == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("ready: %d %s; want %d", code, text, want)
		}
	}
}

// awaitInside waits until the given number of reviews are open.
func (r *running) awaitInside(t *testing.T, want int64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); r.inside.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d reviews are open, want %d", r.inside.Load(), want)
		}
	}
}

// caller returns a client that acts as an API server. It keeps its connection or, if fresh, opens a new one per
// request.
func caller(pool *x509.CertPool, fresh, http2 bool) *http.Client {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: fresh, Protocols: protocols,
	}}
}

// ask sends a review, and returns an error unless the answer allows it.
func (r *running) ask(client *http.Client, body io.Reader) error {
	response, err := client.Post("https://"+r.admission.listener.Addr().String()+Path, "application/json", body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !strings.Contains(string(text), `"allowed":true`)) {
		return fmt.Errorf("%d %s", response.StatusCode, text)
	}
	return err
}

func TestReadyOnceACertificateExists(t *testing.T) {
	r := start(t, func(*running, *Options) {})
	if code, text := r.probe(t, ReadyPath); code != http.StatusServiceUnavailable ||
		!strings.Contains(text, "certificate") {
		t.Errorf("ready without a certificate: %d %s", code, text)
	}
	if code, _ := r.probe(t, HealthPath); code != http.StatusOK {
		t.Errorf("healthy: %d", code)
	}
	withCertificate(t)(r, nil)
	r.awaitReady(t, http.StatusOK)
	if err := r.ask(caller(r.authority.Pool(), false, true),
		bytes.NewReader(body(t, request(t, nil, channel(nil))))); err != nil {
		t.Error(err)
	}
	_, metrics := r.probe(t, MetricsPath)
	for _, want := range []string{
		`svc_lb_mux_admission_reviews_total{decision="allowed",kind="channel",operation="CREATE"} 1`,
		`svc_lb_mux_admission_review_duration_seconds_count 1`, `svc_lb_mux_certificate_expiry_timestamp_seconds 1.`,
		`svc_lb_mux_certificate_load_failures_total`, `svc_lb_mux_build_info{component="webhook",go_version="go1.`,
		`version="v0-test"} 1`, `go_goroutines`, `process_resident_memory_bytes`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	r.end(t)
}

func TestOnlyTLS12AndLaterIsAccepted(t *testing.T) {
	r := start(t, withCertificate(t))
	r.awaitReady(t, http.StatusOK)
	for version, welcome := range map[uint16]bool{
		tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true,
	} {
		conn, err := tls.Dial("tcp", r.admission.listener.Addr().String(), &tls.Config{
			RootCAs: r.authority.Pool(), MinVersion: tls.VersionTLS10, MaxVersion: version,
		})
		if (err == nil) != welcome {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			conn.Close()
		}
	}
	r.end(t)
}

func TestRunFailsAtOnceIfAPortIsInUse(t *testing.T) {
	r := start(t, withCertificate(t))
	taken := r.admission.listener.Addr().String()
	for flag, edit := range map[string]func(*Options){
		"--address":       func(o *Options) { o.Address = taken },
		"--probe-address": func(o *Options) { o.ProbeAddress = taken },
	} {
		options := testOptions(r.volume)
		edit(&options)
		if err := Run(t.Context(), options, "", io.Discard); err == nil || !strings.Contains(err.Error(), flag+" \""+taken) {
			t.Errorf("the port of %s is in use: %v", flag, err)
		}
	}
	r.end(t)
}

func TestNothingRunsAfterTheEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		r := start(t, withCertificate(t))
		r.awaitReady(t, http.StatusOK)
		for _, http2 := range []bool{false, true} {
			client := caller(r.authority.Pool(), false, http2)
			for _, text := range []string{string(body(t, request(t, nil, channel(nil)))), "{", strings.Repeat(" ", maxBody+1)} {
				_ = r.ask(client, strings.NewReader(text)) // refused requests must leave no goroutines, either
			}
			client.CloseIdleConnections()
		}
		r.end(t)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func TestFailedServerEndsTheProcess(t *testing.T) {
	r := start(t, withCertificate(t))
	r.awaitReady(t, http.StatusOK)
	r.admission.listener.Close()
	select {
	case err := <-r.ended:
		if err == nil || !strings.Contains(err.Error(), "serving on") {
			t.Errorf("the process ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the process continues without its listener")
	}
}

// sized returns a valid review of about the given size.
func sized(t *testing.T, bytes int) []byte {
	t.Helper()
	return body(t, request(t, nil, channel(func(svc *corev1.Service) {
		svc.Annotations["example.com/padding"] = strings.Repeat("x", bytes)
	})))
}
