// Package failover tests which reconciler leads: while the Python original still runs, after a rollback, and when the
// leader's node dies. The chart is rendered and applied as Argo CD does, without a lookup in the cluster.
package failover

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

const (
	namespace = product.Namespace
	prefix    = "svc-mux.nowake.ai"
	shop      = "shop"
	selector  = "app.kubernetes.io/name=svc-mux,app.kubernetes.io/instance=" + product.Release
	ours      = selector + ",svc-mux.nowake.ai/leader-election=lease" // without the original's pods
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a cluster of two nodes.
type world struct{ *cluster.Cluster }

func start(t *testing.T) *world {
	t.Helper()
	w := &world{cluster.Start(t, cluster.Nodes(2, product.Archives(t)...), cluster.WithProvider(), cluster.Helm())}
	for _, name := range []string{namespace, shop} {
		_, err := w.Client.CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second) // a dead node doesn't answer
			defer cancel()
			out, _ := w.TryKubectl(ctx, "", "logs", "--namespace="+namespace, "--selector="+selector,
				"--prefix", "--tail=40")
			t.Log(out.Stdout)
		}
	})
	return w
}

// ours renders this tree's chart.
func (w *world) ours(t *testing.T) string {
	t.Helper()
	chart, err := product.Chart()
	if err != nil {
		t.Fatal(err)
	}
	return w.Helm(t, "template", product.Release, chart, "--namespace="+namespace, "--no-hooks",
		"--set=certs.mode=selfManaged",
		"--set=images.registry="+product.Registry, "--set=images.pullPolicy=Never",
		"--set=images.webhook.tag="+product.Version,
		"--set=images.reconciler.tag="+product.Version)
}

// original renders the original's chart. Its pods run until they are deleted by force, however long that takes.
func (w *world) original(t *testing.T) string {
	t.Helper()
	chart, err := filepath.Abs("../life/testdata/original")
	if err != nil {
		t.Fatal(err)
	}
	text := w.Helm(t, "template", product.Release, chart, "--namespace="+namespace,
		"--values="+filepath.Join(chart, "../values.yaml"))
	return replace(t, replace(t, text, "      containers:\n",
		"      terminationGracePeriodSeconds: 3600\n      containers:\n"),
		"        ports:\n", "        lifecycle: {preStop: {exec: {command: [/pod, leave, \"3600\"]}}}\n        ports:\n")
}

func replace(t *testing.T, text, old, now string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q occurs %d times, want once", old, strings.Count(text, old))
	}
	return strings.Replace(text, old, now, 1)
}

// apply applies manifests in the release's namespace, and waits for the rollout.
func (w *world) apply(t *testing.T, manifests string, flags ...string) {
	t.Helper()
	args := append([]string{"apply", "--namespace=" + namespace, "--filename=-"}, flags...)
	if _, err := w.TryKubectl(t.Context(), manifests, args...); err != nil {
		t.Fatal(err)
	}
	w.Kubectl(t, "rollout", "status", "deployment/svc-mux", "--namespace="+namespace, "--timeout=180s")
}

// holder returns the holder of the lease, or an empty string if the lease has none or has expired.
func (w *world) holder(ctx context.Context) (string, error) {
	lease, err := w.Client.CoordinationV1().Leases(namespace).Get(ctx, "svc-mux", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil || lease.Spec.RenewTime == nil ||
		time.Since(lease.Spec.RenewTime.Time) > seconds(lease.Spec.LeaseDurationSeconds) {
		return "", err
	}
	return ptr.Deref(lease.Spec.HolderIdentity, ""), nil
}

func seconds(n *int32) time.Duration { return time.Duration(ptr.Deref(n, 0)) * time.Second }

// awaitHolder waits until another process than before has the lease, and returns its name.
func (w *world) awaitHolder(t *testing.T, before string) (now string) {
	t.Helper()
	cluster.Eventually(t, "a process leads that isn't "+before, func(ctx context.Context) (err error) {
		if now, err = w.holder(ctx); err == nil && (now == "" || now == before) {
			err = fmt.Errorf("the lease's holder is %q", now)
		}
		return err
	})
	return now
}

func (w *world) pods(t *testing.T, namespace, selector string) []corev1.Pod {
	t.Helper()
	list, err := w.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// channel returns a channel of the app.
func channel(name string) string {
	return fmt.Sprintf(
		`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s, annotations: {%s/external-ports: "http:auto"}},
		spec: {type: LoadBalancer, loadBalancerClass: %s/mux, allocateLoadBalancerNodePorts: false, selector: {app: web},
		ports: [{name: http, port: 80, targetPort: 8080}]}}`, name, shop, prefix, prefix)
}

// attach creates a channel. The webhook gets a certificate only after a process leads, so the first tries may be
// refused.
func (w *world) attach(t *testing.T, name string) {
	t.Helper()
	cluster.Eventually(t, name+" is taken", func(ctx context.Context) error {
		_, err := w.TryKubectl(ctx, channel(name), "apply", "--filename=-")
		return err
	})
}

// served waits until a channel has an address and a number, and returns both.
func (w *world) served(t *testing.T, name string) (address string) {
	t.Helper()
	cluster.Eventually(t, name+" is served", func(ctx context.Context) error {
		svc, err := w.Client.CoreV1().Services(shop).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, number, found := strings.Cut(svc.Annotations[prefix+"/ports"], "->")
		if !found || len(svc.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("status: %v", svc.Status)
		}
		address = svc.Status.LoadBalancer.Ingress[0].IP + ":" + number
		return nil
	})
	return address
}
