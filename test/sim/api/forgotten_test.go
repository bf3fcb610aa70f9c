package api_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// TestForgottenVersionsAreExpired makes the real server forget in both ways. A compaction of etcd expires lists of the
// past, and a restart of the API server expires watches. Our server has one history for both.
func TestForgottenVersionsAreExpired(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.APIServerOnly())
	m := &memory{real: clientOf(t, c), server: api.NewServer(time.Now)}
	namespace(t, m.real, "a")
	for _, name := range []string{"one", "two", "three"} {
		m.create(t, name)
	}
	if diff := m.compare(t); diff != "" {
		t.Fatalf("before any compaction, the real server (-) and ours (+) differ:\n%s", diff)
	}
	// The last change before the restart must be to another object. The restarted server then knows all later changes.
	create(t, m.real, "default", "other")
	create(t, &api.Client{Server: m.server}, "default", "other")
	restart(t, c)
	now := m.now(t)
	compact(t, c, now.theirs)
	m.server.Compact(now.ours)
	m.create(t, "four")
	if diff := m.compare(t); diff != "" {
		t.Errorf("the real server (-) and ours (+) differ:\n%s", diff)
	}
	for kind := range lists() {
		expectExpired(t, m.server.Watch(kind, labels.Everything(), now.ours-1))
	}
}

// expectExpired checks a stream of our server: Waits must return true, so that the reader learns of the error.
func expectExpired(t *testing.T, stream *api.Stream) {
	t.Helper()
	if !stream.Waits() {
		t.Error("an expired watch has nothing to read, want an error")
	}
	for range 2 {
		if _, err := stream.Next(true); !apierrors.IsResourceExpired(err) {
			t.Errorf("an expired watch returns %v", err)
		}
	}
}

// TestWatchExpiresOnlyIfItMissedEvents checks that compaction expires only watches with unread events. On a real
// server, events wait in a buffer.
func TestWatchExpiresOnlyIfItMissedEvents(t *testing.T) {
	server := api.NewServer(time.Now)
	ours := &api.Client{Server: server}
	idle := server.Watch(api.Services, labels.Everything(), server.Version())
	behind := server.Watch(api.ConfigMaps, labels.Everything(), server.Version())
	for _, name := range []string{"one", "two", "three"} {
		create(t, ours, "a", name)
	}
	if event, err := behind.Next(false); err != nil || event == nil {
		t.Fatalf("before compaction the watch returns %v, %v", event, err)
	}
	server.Compact(server.Version())
	expectExpired(t, behind)
	if event, err := idle.Next(true); err != nil || event == nil || event.Type != kwatch.Bookmark ||
		event.Version != server.Version() {
		t.Errorf("a watch that missed nothing returns %v, %v", event, err)
	}
}

// memory holds both servers, and the moments whose state is compared.
type memory struct {
	real    client.WithWatch
	server  *api.Server
	moments []moment
}

// moment is the version on both servers right after a change.
type moment struct {
	name string
	since
}

func (m *memory) create(t *testing.T, name string) {
	t.Helper()
	theirs, ours := create(t, m.real, "a", name), create(t, &api.Client{Server: m.server}, "a", name)
	m.moments = append(m.moments, moment{name, since{theirs, versionOf(t, ours)}})
}

func create(t *testing.T, c client.Client, namespace, name string) string {
	t.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
		Labels: map[string]string{"watched": "yes", "sequence": namespace}}}
	if err := c.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	return obj.ResourceVersion
}

// now returns the present as a moment.
func (m *memory) now(t *testing.T) since {
	t.Helper()
	list := &corev1.ConfigMapList{}
	if err := m.real.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	now := since{list.ResourceVersion, m.server.Version()}
	m.moments = append(m.moments, moment{"now", now})
	return now
}

// compare lists both servers at each moment, and watches them from each moment on.
func (m *memory) compare(t *testing.T) string {
	t.Helper()
	theirs, ours := map[string][]string{}, map[string][]string{}
	w := &watches{real: m.real, selector: labels.SelectorFromSet(labels.Set{"watched": "yes", "sequence": "a"})}
	for _, at := range m.moments {
		for kind := range lists() {
			question := fmt.Sprintf("list %s at %s", kind, at.name)
			theirs[question] = listed(t, m.real, kind, at.theirs)
			ours[question] = listed(t, &api.Client{Server: m.server}, kind, strconv.FormatInt(at.ours, 10))
			question = fmt.Sprintf("watch %s after %s", kind, at.name)
			ours[question] = read(m.server.Watch(kind, w.selector, at.ours))
			theirs[question] = atLeast(t.Context(), w.follow(t, kind, at.theirs), len(ours[question]))
		}
	}
	return cmp.Diff(theirs, ours)
}

func listed(t *testing.T, c client.Client, kind api.Kind, at string) []string {
	t.Helper()
	list := lists()[kind]
	err := c.List(t.Context(), list, &client.ListOptions{Namespace: "a",
		Raw: &metav1.ListOptions{ResourceVersion: at, ResourceVersionMatch: metav1.ResourceVersionMatchExact}})
	if err != nil {
		return []string{reason(err)}
	}
	return plainList(t, list)
}

func read(stream *api.Stream) []string {
	told := []string{}
	for {
		event, err := stream.Next(false)
		switch {
		case err != nil:
			return append(told, "ERROR "+reason(err))
		case event == nil:
			return told
		}
		told = append(told, fmt.Sprintf("%s %s", event.Type, plain(event.Object)))
	}
}

func versionOf(t *testing.T, text string) int64 {
	t.Helper()
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// compact calls etcd directly. The API server itself compacts only every five minutes.
func compact(t *testing.T, c *cluster.Cluster, revision string) {
	t.Helper()
	body := strings.NewReader(fmt.Sprintf(`{"revision": %q, "physical": true}`, revision))
	response, err := c.Inside().HTTP().Post("http://127.0.0.1:2379/v3/kv/compaction", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("etcd isn't compacted: %s", response.Status)
	}
}

func restart(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	server := c.Component("kube-apiserver")
	if err := server.Kill(t.Context()); err != nil { // a graceful stop would wait for the end of watches
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
}
