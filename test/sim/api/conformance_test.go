package api_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

var (
	sequences = flag.Int("sequences", 12, "how many sequences to put to both servers")
	first     = flag.Uint64("first", 0, "the seed of the first")
)

// length is the number of requests in a sequence.
const length = 60

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	cluster.Main(m)
}

// TestServerAnswersLikeTheRealOne sends the same random requests to both servers. It compares every answer, every
// object, every list, and in the end all events of the watches.
func TestServerAnswersLikeTheRealOne(t *testing.T) {
	t.Parallel()
	real := clientOf(t, cluster.Start(t, cluster.APIServerOnly()))
	police(t, real)
	t.Run("unchanged", func(t *testing.T) { unchanged(t, real) })
	told := map[string]int{}
	for _, seed := range seeds() {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { replay(t, real, seed, told) }) {
			t.Errorf("again: go test ./test/sim/api -run RealOne -args -first=%d -sequences=1", seed)
			break
		}
	}
	t.Logf("answers: %v", told)
	for _, answer := range []string{"", "Conflict", "NotFound", "AlreadyExists", "Invalid", "Forbidden"} {
		if told[answer] == 0 && len(seeds()) >= 10 {
			t.Errorf("no request got the answer %q", answer)
		}
	}
}

func seeds() []uint64 {
	n := *sequences
	if testing.Short() {
		n = min(n, 10)
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = *first + uint64(i)
	}
	return list
}

// clientOf returns a client without a rate limit.
func clientOf(t *testing.T, c *cluster.Cluster) client.WithWatch {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	config.QPS, config.Burst = -1, -1
	config.WarningHandler = rest.NoWarnings{}
	real, err := client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func namespace(t *testing.T, real client.Client, name string) {
	t.Helper()
	if err := real.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
}

func replay(t *testing.T, real client.WithWatch, seed uint64, told map[string]int) {
	place := fmt.Sprintf("conformance-%d", seed)
	namespace(t, real, place)
	namespace(t, real, place+"-b")
	t.Cleanup(func() { giveBack(t, real, place, place+"-b") })
	server := api.NewServer(time.Now)
	server.Admit = admit
	ours, theirs := newSide(t, &api.Client{Server: server}, place), newSide(t, real, place)
	g := &requests{Rand: rand.New(rand.NewPCG(seed, 0))}
	all := watch(t, real, server, place, nil)
	var since *watches
	marked := g.IntN(length)
	var story []string
	for i := range length {
		if i == marked {
			since = watch(t, real, server, place, all.bookmarks(t))
			story = append(story, "a bookmark")
		}
		request := g.next()
		story = append(story, request.what)
		want, got := theirs.ask(request), ours.ask(request)
		told[want.reason]++
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(answer{})); diff != "" {
			t.Fatalf("%s\nthe real server (-) and ours (+) differ:\n%s\nerrors: %s\n       %s", strings.Join(story, "\n"), diff,
				theirs.words, ours.words)
		}
	}
	for _, seen := range []*watches{all, since} {
		if diff := seen.compare(t); diff != "" {
			t.Errorf("%s\nthe real server (-) and ours (+) sent different events after %v:\n%s", strings.Join(story, "\n"),
				seen.after, diff)
		}
	}
}

// giveBack deletes the Services in some namespaces, in order to free node ports for the next sequence.
func giveBack(t *testing.T, real client.WithWatch, namespaces ...string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, namespace := range namespaces {
		var list corev1.ServiceList
		if err := real.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			svc := &list.Items[i]
			svc.Finalizers = nil
			// Objects that are being deleted already disappear with their last finalizer.
			if err := real.Patch(ctx, svc,
				client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null,"annotations":null}}`))); err == nil {
				err = real.Delete(ctx, svc)
				if client.IgnoreNotFound(err) != nil {
					t.Error(err)
				}
			} else if client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
	}
}
