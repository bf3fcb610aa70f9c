package api_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// TestItAnswersAsTheRealOneDoes puts the same random requests to both, and compares every answer, every object, and in
// the end all that watches have seen.
func TestItAnswersAsTheRealOneDoes(t *testing.T) {
	c := cluster.Start(t, cluster.APIServerOnly())
	config := rest.CopyConfig(c.Config)
	config.QPS, config.Burst = -1, -1
	real, err := client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	sequences, length := 40, 60
	if testing.Short() {
		sequences = 10
	}
	told := map[string]int{}
	for seed := range sequences {
		namespace := fmt.Sprintf("conformance-%d", seed)
		if err := real.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
			t.Fatal(err)
		}
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { replay(t, real, namespace, uint64(seed), length, told) }) {
			break
		}
	}
	t.Logf("answers: %v", told)
	for _, answer := range []string{"", "Conflict", "NotFound", "AlreadyExists", "Invalid"} {
		if told[answer] == 0 {
			t.Errorf("nothing was ever answered with %q", answer)
		}
	}
}

func replay(t *testing.T, real client.WithWatch, namespace string, seed uint64, length int, told map[string]int) {
	server := api.NewServer(time.Now)
	ours := newSide(t, &api.Client{Server: server}, namespace)
	theirs := newSide(t, real, namespace)
	watched := follow(t, real, namespace)
	streams := open(server)
	g := &requests{Rand: rand.New(rand.NewPCG(seed, 0))}
	var story []string
	for range length {
		request := g.next()
		story = append(story, request.what)
		want, got := theirs.ask(request), ours.ask(request)
		told[want.reason]++
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(answer{})); diff != "" {
			t.Fatalf("%s\nthe real one (-) and ours (+) differ:\n%s\nwords: %s\n       %s", strings.Join(story, "\n"), diff, theirs.words, ours.words)
		}
	}
	events := map[api.Kind][]string{}
	for kind, stream := range streams {
		events[kind] = drain(t, stream)
	}
	if diff := cmp.Diff(watched(events), events); diff != "" {
		t.Errorf("%s\nthe real one (-) and ours (+) sent other events:\n%s", strings.Join(story, "\n"), diff)
	}
}

// follow begins real watches; what it returns waits until as many events have come as are expected, and no more.
func follow(t *testing.T, real client.WithWatch, namespace string) func(map[api.Kind][]string) map[api.Kind][]string {
	t.Helper()
	got := map[api.Kind]<-chan string{}
	for kind, list := range lists() {
		stream, err := real.Watch(t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{"watched": "yes"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stream.Stop)
		told := make(chan string, 1000)
		go func() {
			for event := range stream.ResultChan() {
				if obj, is := event.Object.(client.Object); is {
					told <- fmt.Sprintf("%s %s", event.Type, plain(obj))
				}
			}
		}()
		got[kind] = told
	}
	return func(expected map[api.Kind][]string) map[api.Kind][]string {
		all := map[api.Kind][]string{}
		for kind, told := range got {
			all[kind] = atLeast(t.Context(), told, len(expected[kind]))
		}
		return all
	}
}

// atLeast takes n events, and those that are there beyond.
func atLeast(ctx context.Context, told <-chan string, n int) []string {
	events := []string{}
	patience := time.After(10 * time.Second)
	for len(events) < n {
		select {
		case event := <-told:
			events = append(events, event)
		case <-patience:
			return events
		case <-ctx.Done():
			return events
		}
	}
	for len(told) > 0 {
		events = append(events, <-told)
	}
	return events
}

func open(server *api.Server) map[api.Kind]*api.Stream {
	streams := map[api.Kind]*api.Stream{}
	for kind := range lists() {
		streams[kind] = server.Watch(kind, selector(), server.Version())
	}
	return streams
}

func drain(t *testing.T, stream *api.Stream) []string {
	t.Helper()
	events := []string{}
	for {
		event, err := stream.Next(false)
		if err != nil {
			t.Fatal(err)
		}
		if event == nil {
			return events
		}
		events = append(events, fmt.Sprintf("%s %s", event.Type, plain(event.Object)))
	}
}

func TestWhatIsCompactedIsExpired(t *testing.T) {
	server := api.NewServer(time.Now)
	stream := server.Watch(api.ConfigMaps, selector(), server.Version())
	for i := range 3 {
		if _, err := server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: fmt.Sprintf("m%d", i), Labels: map[string]string{"watched": "yes"},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	past := server.Version() - 1
	if list, at, err := server.List(api.ConfigMaps, selector(), past); err != nil || len(list) != 2 || at != past {
		t.Errorf("the past has %d objects at %d: %v", len(list), at, err)
	}
	server.Compact(server.Version())
	if _, err := stream.Next(false); err == nil {
		t.Error("a watch is told what was forgotten")
	}
	if _, _, err := server.List(api.ConfigMaps, selector(), past); err == nil {
		t.Error("a list is told what was forgotten")
	}
	late := server.Watch(api.ConfigMaps, selector(), server.Version())
	if event, err := late.Next(true); event != nil || err != nil {
		t.Errorf("nothing has come, and it says %v, %v", event, err)
	}
	if err := server.Delete(api.ConfigMaps, client.ObjectKey{Namespace: "a", Name: "m0"}, nil); err != nil {
		t.Fatal(err)
	}
	other := server.Watch(api.Services, selector(), server.Version()-1)
	if event, err := other.Next(true); err != nil || event == nil || event.Type != "BOOKMARK" || event.Version != server.Version() {
		t.Errorf("a bookmark is due, and it says %v, %v", event, err)
	}
}
