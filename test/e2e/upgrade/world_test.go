package upgrade

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

const (
	prefix = "svc-mux.nowake.ai"
	// edge is the namespace of the muxes that aren't the chart's own.
	edge = "edge"
	// outsider is a namespace that no mux in edge allows.
	outsider = "outsider"
	// teams is the number of namespaces with channels.
	teams = 5
	// reconcilers selects the reconciler's pods.
	reconcilers = "app.kubernetes.io/name=svc-mux"
)

// world is a cluster with both builds' images, and the phase that the test is in.
type world struct {
	*cluster.Cluster
	current atomic.Value
}

func (w *world) enter(phase string) { w.current.Store(phase) }

func (w *world) phase() string {
	phase, _ := w.current.Load().(string)
	return phase
}

// logs prints the end of the reconciler's and the webhook's logs if the test failed.
func (w *world) logs(t *testing.T) {
	if !t.Failed() {
		return
	}
	for _, selector := range []string{reconcilers, reconcilers + "-webhook"} {
		out, err := w.TryKubectl(context.WithoutCancel(t.Context()), "", "logs", "--namespace="+product.Namespace,
			"--selector="+selector, "--prefix", "--tail=30")
		t.Logf("%s %v", out.Stdout, err)
	}
}

func (w *world) install(t *testing.T, release product.Helm) {
	t.Helper()
	begin := time.Now()
	if _, err := release.Install(t.Context(), w.Cluster); err != nil {
		t.Fatalf("%s: %v", w.phase(), err)
	}
	t.Logf("%s: helm took %s", w.phase(), time.Since(begin).Round(time.Second))
}

// settled waits until the pods of one version are ready, and those of the other version are gone.
func (w *world) settled(t *testing.T, version string) {
	t.Helper()
	cluster.Eventually(t, w.phase()+": only reconcilers of version "+version+" run", func(ctx context.Context) error {
		pods, err := w.reconcilers(ctx)
		if err == nil && len(pods) == 0 {
			err = fmt.Errorf("no reconciler runs")
		}
		for i := range pods {
			if image := pods[i].Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+version) {
				return fmt.Errorf("pod %s has image %s", pods[i].Name, image)
			}
		}
		return err
	})
}

func (w *world) reconcilers(ctx context.Context) ([]corev1.Pod, error) {
	pods, err := w.Client.CoreV1().Pods(product.Namespace).List(ctx, metav1.ListOptions{LabelSelector: reconcilers})
	if err != nil {
		return nil, err
	}
	return pods.Items, nil
}

// team is the namespace of channel i. Channels with neighbouring numbers are in different namespaces, so that an answer
// from another namespace's pod shows a number that moved.
func team(i int) string { return fmt.Sprintf("team-%d", i%teams) }

// apps runs one pod in each team's namespace. It answers HTTP and UDP with its name.
func (w *world) apps(t *testing.T) {
	t.Helper()
	var manifests strings.Builder
	for _, name := range []string{edge, outsider} {
		fmt.Fprintf(&manifests, "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name)
	}
	for i := range teams {
		fmt.Fprintf(&manifests, `
---
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "%[2]s", args: [serve]}]`, team(i), cluster.PodImage)
	}
	w.Apply(t, manifests.String())
	for i := range teams {
		w.Kubectl(t, "rollout", "status", "deployment/"+team(i), "--namespace="+team(i), "--timeout=120s")
	}
}

func (w *world) service(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	return w.Client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
}

func says(svc *corev1.Service, kind string, status metav1.ConditionStatus) bool {
	for _, c := range svc.Status.Conditions {
		if c.Type == prefix+"/"+kind && c.Status == status {
			return true
		}
	}
	return false
}

func addressOf(svc *corev1.Service) string {
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		return ingress.IP
	}
	return ""
}
