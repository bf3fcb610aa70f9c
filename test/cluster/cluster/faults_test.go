package cluster

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// TestFaultsOnARealAPIServer tests the fault proxy with a real API server.
func TestFaultsOnARealAPIServer(t *testing.T) {
	t.Parallel()
	c := Start(t)
	listener, err := c.Inside().Listen("tcp", controlPlaneIP+":7443")
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := faults.Start(c.Config, faults.Listener(listener), faults.As("tester", "system:masters"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	config := proxy.Config()
	config.Dial = c.Host.Dialer("")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a write is refused and not made", func(t *testing.T) { refusedAndNotMade(t, c, proxy, client) })
	t.Run("a write is made and its answer lost", func(t *testing.T) { madeAndLost(t, c, proxy, client) })
	t.Run("a watch is held and released", func(t *testing.T) { heldWatch(t, c, proxy, client) })
	t.Run("kubectl's requests through the proxy are counted", func(t *testing.T) { kubectlCounted(t, c, proxy) })
}

func service(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
}

func exists(t *testing.T, c *Cluster, name string) bool {
	t.Helper()
	_, err := c.Client.CoreV1().Services("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func refusedAndNotMade(t *testing.T, c *Cluster, proxy *faults.Proxy, client kubernetes.Interface) {
	services := client.CoreV1().Services("default")
	writes := faults.Match{Verbs: faults.Writes(), Resource: "services"}
	for code, is := range map[int]func(error) bool{
		http.StatusConflict:            apierrors.IsAlreadyExists, // 409 for a create
		http.StatusTooManyRequests:     apierrors.IsTooManyRequests,
		http.StatusInternalServerError: apierrors.IsInternalError,
	} {
		rule := proxy.Add(faults.Rule{Match: writes, Times: 1, Do: faults.Answer(code, faults.RetryAfter(0))})
		if _, err := services.Create(t.Context(), service("refused"), metav1.CreateOptions{}); !is(err) {
			t.Errorf("%d: got %v", code, err)
		}
		if rule.Hits() != 1 || exists(t, c, "refused") {
			t.Errorf("%d: %d hits, made: %t", code, rule.Hits(), exists(t, c, "refused"))
		}
		rule.Remove()
	}
	if _, err := services.Create(t.Context(), service("admitted"), metav1.CreateOptions{}); err != nil ||
		!exists(t, c, "admitted") {
		t.Errorf("with the rules gone: %v", err)
	}
}

func madeAndLost(t *testing.T, c *Cluster, proxy *faults.Proxy, client kubernetes.Interface) {
	rule := proxy.Add(faults.Rule{Match: faults.Match{Verbs: []string{"create"}, Resource: "services"}, Times: 1,
		Do: faults.DropAfter()})
	defer rule.Remove()
	_, err := client.CoreV1().Services("default").Create(t.Context(), service("lost"), metav1.CreateOptions{})
	if err == nil || !exists(t, c, "lost") {
		t.Errorf("got %v; made: %t", err, exists(t, c, "lost"))
	}
}

func heldWatch(t *testing.T, c *Cluster, proxy *faults.Proxy, client kubernetes.Interface) {
	watch, err := client.CoreV1().Services("default").Watch(t.Context(),
		metav1.ListOptions{FieldSelector: "metadata.name=news"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	hold := proxy.HoldWatches(faults.Match{Resource: "services"})
	createService(t, c, "news")
	if err := hold.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	select {
	case event := <-watch.ResultChan():
		t.Errorf("the held watch delivers %v", event)
	case <-time.After(100 * time.Millisecond):
	}
	hold.Release()
	select {
	case event := <-watch.ResultChan():
		if got, ok := event.Object.(*corev1.Service); !ok || got.Name != "news" {
			t.Errorf("the watch delivers %v", event)
		}
	case <-time.After(10 * time.Second):
		t.Error("the released watch delivers nothing")
	}
}

func kubectlCounted(t *testing.T, c *Cluster, proxy *faults.Proxy) {
	path := filepath.Join(c.Host.Dir, "faults.kubeconfig")
	if err := faults.WriteKubeconfig(path, proxy.Config()); err != nil {
		t.Fatal(err)
	}
	before := proxy.Snapshot()
	out := c.Kubectl(t, "--kubeconfig="+path, "get", "services", "-o", "name")
	if !strings.Contains(out, "service/admitted") {
		t.Errorf("kubectl through the proxy: %s", out)
	}
	lists := proxy.Snapshot().Sub(before).Where(func(key faults.Key) bool {
		return key.Verb == "list" && key.Resource == "services" && key.User == "tester"
	})
	if lists.Total() != 1 {
		t.Errorf("want one list of services by tester, counted: %s", proxy.Snapshot().Sub(before))
	}
	Eventually(t, "the API server saw them all as tester", func(ctx context.Context) error {
		if who := c.Kubectl(t, "--kubeconfig="+path, "auth", "whoami", "-o",
			"jsonpath={.status.userInfo.username}"); who != "tester" {
			return fmt.Errorf("as %q", who)
		}
		return nil
	})
}
