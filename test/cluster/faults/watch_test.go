package faults

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// watchVia opens a watch of Services through the proxy, with the given content type.
func watchVia(t *testing.T, server *apiServer, proxy *Proxy, media string) watch.Interface {
	t.Helper()
	config := rest.CopyConfig(proxy.Config())
	config.ContentType = media
	events, err := clientOf(t, config).CoreV1().Services("a").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-server.opened
	t.Cleanup(events.Stop)
	return events
}

// expect reads events with these names, in this order.
func expect(t *testing.T, events watch.Interface, names ...string) {
	t.Helper()
	for _, name := range names {
		select {
		case got := <-events.ResultChan():
			service, ok := got.Object.(*corev1.Service)
			if !ok || service.Name != name {
				t.Fatalf("event %v, want %s", got, name)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("no event, want %s", name)
		}
	}
}

// expectNone fails if an event arrives soon.
func expectNone(t *testing.T, events watch.Interface) {
	t.Helper()
	select {
	case got, open := <-events.ResultChan():
		t.Fatalf("event %v (stream open: %t), want none yet", got, open)
	case <-time.After(50 * time.Millisecond):
	}
}

// inEachMedia runs a test with JSON and with protobuf streams.
func inEachMedia(t *testing.T, test func(t *testing.T, server *apiServer, proxy *Proxy, events watch.Interface)) {
	for name, media := range map[string]string{"JSON": jsonMedia, "protobuf": protobufMedia} {
		t.Run(name, func(t *testing.T) {
			server, proxy, _ := startAll(t)
			test(t, server, proxy, watchVia(t, server, proxy, media))
		})
	}
}

func TestEventsPassAtOnceAndInOrder(t *testing.T) {
	inEachMedia(t, func(t *testing.T, server *apiServer, proxy *Proxy, events watch.Interface) {
		server.send("a")
		expect(t, events, "a")
		server.send("b", "c")
		expect(t, events, "b", "c")
		if open := proxy.Watches(); len(open) != 1 || !strings.HasPrefix(open[0].String(), "watch services a by ") {
			t.Errorf("open watches: %v", open)
		}
	})
}

func TestHeldEventsAreDeliveredWhenReleased(t *testing.T) {
	inEachMedia(t, func(t *testing.T, server *apiServer, proxy *Proxy, events watch.Interface) {
		hold := proxy.HoldWatches(Match{Resource: "services"})
		server.send("a", "b")
		if err := hold.Wait(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		expectNone(t, events)
		hold.Release()
		expect(t, events, "a", "b")
		server.send("c")
		expect(t, events, "c")
	})
}

func TestHoldAppliesToLaterWatchesThatMatch(t *testing.T) {
	server, proxy, client := startAll(t)
	early := watchVia(t, server, proxy, jsonMedia)
	slices, err := client.DiscoveryV1().EndpointSlices("a").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-server.opened
	defer slices.Stop()
	hold := proxy.HoldWatches(Match{Resource: "services"})
	late := watchVia(t, server, proxy, jsonMedia)
	server.send("a")
	if err := hold.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	expect(t, slices, "a")
	expectNone(t, early)
	expectNone(t, late)
	hold.Release()
	expect(t, early, "a")
	expect(t, late, "a")
}

func TestTheEndOfAHeldStreamWaitsForItsEvents(t *testing.T) {
	server, proxy, _ := startAll(t)
	events := watchVia(t, server, proxy, jsonMedia)
	hold := proxy.HoldWatches(Match{})
	server.send("a", "")
	if err := hold.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	expectNone(t, events)
	hold.Release()
	expect(t, events, "a")
	if got, open := <-events.ResultChan(); open {
		t.Errorf("after the end: %v", got)
	}
}

func TestDelayDoesNotAddUpOverEvents(t *testing.T) {
	inEachMedia(t, func(t *testing.T, server *apiServer, proxy *Proxy, events watch.Interface) {
		const delay = 100 * time.Millisecond
		rule := proxy.DelayWatches(Match{}, delay)
		start := time.Now()
		server.send("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
		expect(t, events, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
		if took := time.Since(start); took < delay || took >= 10*delay {
			t.Errorf("ten events took %s, want about %s", took, delay)
		}
		rule.Remove()
		server.send("k")
		expect(t, events, "k")
		if rule.Hits() != 10 {
			t.Errorf("%d hits, want 10", rule.Hits())
		}
	})
}

func TestBrokenWatchEnds(t *testing.T) {
	inEachMedia(t, func(t *testing.T, server *apiServer, proxy *Proxy, events watch.Interface) {
		if n := proxy.BreakWatches(Match{Resource: "pods"}); n != 0 {
			t.Errorf("broke %d watches of pods, want none", n)
		}
		server.send("a")
		expect(t, events, "a")
		if n := proxy.BreakWatches(Match{Resource: "services"}); n != 1 {
			t.Errorf("broke %d watches, want 1", n)
		}
		for event := range events.ResultChan() {
			if event.Type != watch.Error { // client-go reports a stream error over HTTP/2 as an event
				t.Errorf("after the break: %v", event)
			}
		}
		eventually(t, "no open watch", func() bool { return len(proxy.Watches()) == 0 })
	})
}

func TestExpiredWatchEndsWithAnError(t *testing.T) {
	inEachMedia(t, func(t *testing.T, server *apiServer, proxy *Proxy, events watch.Interface) {
		hold := proxy.HoldWatches(Match{})
		server.send("held")
		if err := hold.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if n := proxy.ExpireWatches(Match{}); n != 1 {
			t.Errorf("expired %d watches, want 1", n)
		}
		event := <-events.ResultChan()
		if event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
			t.Errorf("got %v", event)
		}
		if event, open := <-events.ResultChan(); open {
			t.Errorf("after the end: %v", event)
		}
	})
}

func TestNewWatchCanBeRefusedAsExpired(t *testing.T) {
	_, proxy, client := startAll(t)
	proxy.Add(Rule{Match: Match{Verbs: []string{"watch"}}, Do: Answer(410)})
	_, err := client.CoreV1().Services("a").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v", err)
	}
}

func TestHeldWatchEndsUpstreamWithItsClient(t *testing.T) {
	for name, http2 := range map[string]bool{"over HTTP/2": true, "over HTTP/1.1": false} {
		t.Run(name, func(t *testing.T) {
			server := startAPIServer(t, func(s *httptest.Server) { s.EnableHTTP2 = http2 })
			leaveWhileHeld(t, server, startProxy(t, server.config()))
		})
	}
}

func leaveWhileHeld(t *testing.T, server *apiServer, proxy *Proxy) {
	ctx, leave := context.WithCancel(t.Context())
	client := clientOf(t, proxy.Config())
	if _, err := watchOf(ctx, client); err != nil {
		t.Fatal(err)
	}
	<-server.opened
	hold := proxy.HoldWatches(Match{})
	server.send("a")
	if err := hold.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	leave()
	eventually(t, "no watch upstream", func() bool {
		server.mu.Lock()
		defer server.mu.Unlock()
		return len(server.watches) == 0 && len(proxy.Watches()) == 0
	})
}

func watchOf(ctx context.Context, client *kubernetes.Clientset) (watch.Interface, error) {
	return client.CoreV1().Services("a").Watch(ctx, metav1.ListOptions{})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 500 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not true after 5 s: %s", what)
}
