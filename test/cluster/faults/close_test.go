package faults

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// running returns the stacks of goroutines that run in the package, or in the HTTP client and server that it uses.
func running() []string {
	buffer := make([]byte, 1<<20)
	buffer = buffer[:runtime.Stack(buffer, true)]
	var found []string
	for _, stack := range strings.Split(string(buffer), "\n\n") {
		for _, mark := range []string{"net/http.", "net/http/", "faults.(*stream)", "faults.(*Proxy)", "crypto/tls"} {
			if strings.Contains(stack, mark) {
				found = append(found, stack)
				break
			}
		}
	}
	return found
}

func TestCloseIsQuickAndLeavesNothingRunning(t *testing.T) {
	server := startAPIServer(t)
	// only the server's own goroutine is left, and none of earlier tests
	eventually(t, "one goroutine", func() bool { return len(running()) <= 1 })
	proxy, err := Start(server.config())
	if err != nil {
		t.Fatal(err)
	}
	transports := &closers{}
	config := transports.add(proxy.Config())
	client := clientOf(t, config)
	hold := proxy.HoldWatches(Match{Resource: "endpointslices"})
	for range 3 {
		events, err := client.DiscoveryV1().EndpointSlices("a").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(events.Stop)
		<-server.opened
	}
	server.send("a")
	if err := hold.Wait(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	paused := proxy.Pause(Match{Verbs: Writes()})
	proxy.Add(Rule{Match: Match{Verbs: []string{"get"}}, Do: Delay(time.Hour)})
	var clients sync.WaitGroup
	clients.Go(func() { _ = patchStatus(t.Context(), client) }) // Close cuts this request
	clients.Go(func() { _ = get(t.Context(), client) })         // and this one
	if err := paused.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}

	start := time.Now()
	if err := errors.Join(proxy.Close(), proxy.Close()); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("closing took %s", took)
	}
	for _, set := range []*connections{proxy.upstream.conns, proxy.clients} {
		set.mu.Lock()
		if len(set.open) != 0 {
			t.Errorf("%d connections are still open", len(set.open))
		}
		set.mu.Unlock()
	}
	clients.Wait()
	transports.close()
	server.CloseClientConnections()
	server.Close()
	eventually(t, "nothing runs", func() bool { return len(running()) == 0 })
}

// closers close the idle connections of clients, which the proxy can't close.
type closers struct{ all []*http.Transport }

func (c *closers) add(config *rest.Config) *rest.Config {
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		if transport, ok := next.(*http.Transport); ok {
			c.all = append(c.all, transport)
		}
		return next
	}
	return config
}

func (c *closers) close() {
	for _, transport := range c.all {
		transport.CloseIdleConnections()
	}
}

func TestCloseEndsATunnel(t *testing.T) {
	server := startAPIServer(t)
	server.answer = echoOnce(t)
	proxy := startProxy(t, server.config())
	stream := tunnel(t, proxy)
	if err := proxy.Close(); err != nil {
		t.Error(err)
	}
	if _, err := stream.Read(make([]byte, 1)); err == nil {
		t.Error("the tunnel is still open")
	}
}

func TestCloseEndsAHangingDial(t *testing.T) {
	config := startAPIServer(t).config()
	dialling, ended := make(chan struct{}), make(chan struct{})
	config.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(dialling)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}
	proxy := startProxy(t, config)
	client := clientOf(t, proxy.Config())
	done := make(chan error, 1)
	go func() { done <- patchStatus(t.Context(), client) }()
	<-dialling
	if err := proxy.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !isDropped(err) {
		t.Errorf("the client got %v", err)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the proxy still dials")
	}
}

func TestCloseReportsAFunctionThatBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT COVERED with -short: Close waits five seconds before it reports")
	}
	server := startAPIServer(t)
	proxy, err := Start(server.config())
	if err != nil {
		t.Fatal(err)
	}
	called, finish := make(chan struct{}), make(chan struct{})
	proxy.OnWrite(func(step Step) {
		if step.Phase == Before {
			close(called)
			<-finish
		}
	})
	done := make(chan error, 1)
	client := clientOf(t, proxy.Config())
	go func() { done <- patchStatus(t.Context(), client) }()
	<-called
	if err := proxy.Close(); err == nil || !strings.Contains(err.Error(), "a request is still running") {
		t.Errorf("got %v", err)
	}
	close(finish)
	if err := <-done; !isDropped(err) {
		t.Errorf("the client got %v", err)
	}
}

func TestRulesMayChangeWhileRequestsPass(t *testing.T) {
	server, proxy, client := startAll(t)
	response := do(t, proxy.Config(), "GET", "/api/v1/services?watch=true", http.Header{}, nil)
	go func() { _, _ = io.Copy(io.Discard, response.Body) }() // the copy ends with the proxy
	<-server.opened
	alive, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for alive.Err() == nil {
				_ = patchStatus(alive, client) // other tests check the result
				server.send("a")
			}
		})
	}
	workers.Go(func() {
		for alive.Err() == nil {
			rule := proxy.Add(Rule{Name: "r", Times: 3, Do: AnswerAfter(409)})
			pause, hold := proxy.Pause(Match{}), proxy.HoldWatches(Match{})
			delay := proxy.DelayWatches(Match{}, time.Millisecond)
			_, _, _ = proxy.Snapshot().String(), proxy.Log(), proxy.Watches()
			pause.Release()
			hold.Release()
			delay.Remove()
			rule.Remove()
		}
	})
	workers.Wait()
	if err := patchStatus(t.Context(), client); err != nil {
		t.Errorf("when all rules are gone: %v", err)
	}
}
