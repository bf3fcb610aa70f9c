package failover

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/long"
)

// TestFailover changes and breaks the reconciler's Deployment in several ways, one after the other, on one cluster.
func TestFailover(t *testing.T) {
	t.Parallel()
	w := start(t)
	if !t.Run("rendered and applied over the original", func(t *testing.T) { testOverTheOriginal(t, w) }) {
		return // the other parts need the result of this one
	}
	t.Run("applied over strategy Recreate, and back", func(t *testing.T) {
		long.Only(t, "applied over the original")
		testRecreate(t, w)
	})
	t.Run("back to the original, and forward again", func(t *testing.T) { testBackToTheOriginal(t, w) })
	t.Run("the leader's node dies", func(t *testing.T) { testDeadNode(t, w) })
}

// testOverTheOriginal checks that our pods become ready beside the original's pod, so that the rollout continues. None
// of them leads before that pod is gone.
func testOverTheOriginal(t *testing.T, w *world) {
	w.apply(t, w.original(t))
	before, err := w.Client.AppsV1().Deployments(namespace).Get(t.Context(), "svc-mux", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.apply(t, w.ours(t))
	w.awaitWaiting(t, 2)
	if holder, err := w.holder(t.Context()); holder != "" || err != nil {
		t.Errorf("%s leads beside the original: %v", holder, err)
	}
	w.endOriginal(t)
	w.awaitHolder(t, "")
	w.attach(t, "first")
	w.served(t, "first")
	after, err := w.Client.AppsV1().Deployments(namespace).Get(t.Context(), "svc-mux", metav1.GetOptions{})
	if err != nil || before.UID != after.UID {
		t.Errorf("the Deployment was replaced: %v", err)
	}
}

// awaitWaiting waits until the given number of pods report that a predecessor must end.
func (w *world) awaitWaiting(t *testing.T, pods int) {
	t.Helper()
	cluster.Eventually(t, "pods wait for the original", func(ctx context.Context) error {
		waiting := 0
		for _, pod := range w.pods(t, namespace, ours) {
			out, err := w.TryKubectl(ctx, "", "logs", pod.Name, "--namespace="+namespace)
			if err == nil && strings.Contains(out.Stdout+out.Stderr, "waits to lead") {
				waiting++
			}
		}
		if waiting < pods {
			return fmt.Errorf("%d pods report it", waiting)
		}
		return nil
	})
}

// endOriginal deletes the original's pods by force.
func (w *world) endOriginal(t *testing.T) {
	t.Helper()
	w.Kubectl(t, "delete", "pods", "--namespace="+namespace, "--selector="+selector+",!svc-mux.nowake.ai/leader-election",
		"--force", "--grace-period=0")
}

// testRecreate sets the strategy of an older chart. The API server refuses a strategy Recreate that keeps
// rollingUpdate.
func testRecreate(t *testing.T, w *world) {
	ours := w.ours(t)
	older := replace(t, ours, "    type: RollingUpdate\n    rollingUpdate: {maxUnavailable: 50%, maxSurge: 1}\n",
		"    type: Recreate\n")
	for _, flags := range [][]string{{"--server-side=false"}, {"--server-side", "--force-conflicts"}} {
		t.Run(flags[0], func(t *testing.T) {
			w.apply(t, ours, flags...)
			w.hasStrategy(t, appsv1.RollingUpdateDeploymentStrategyType)
			w.apply(t, older, flags...)
			w.hasStrategy(t, appsv1.RecreateDeploymentStrategyType)
			w.apply(t, ours, flags...)
			w.hasStrategy(t, appsv1.RollingUpdateDeploymentStrategyType)
		})
	}
}

func (w *world) hasStrategy(t *testing.T, want appsv1.DeploymentStrategyType) {
	t.Helper()
	deployment, err := w.Client.AppsV1().Deployments(namespace).Get(t.Context(), "svc-mux", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := deployment.Spec.Strategy.Type; got != want {
		t.Errorf("the strategy is %s, want %s", got, want)
	}
}

// testBackToTheOriginal checks that our leader stops when a pod of the original starts: the original uses no lease.
func testBackToTheOriginal(t *testing.T, w *world) {
	leader := w.awaitHolder(t, "")
	w.apply(t, w.original(t), "--server-side", "--force-conflicts")
	cluster.Eventually(t, "none of ours leads", func(ctx context.Context) error {
		holder, err := w.holder(ctx)
		if err == nil && holder != "" {
			err = fmt.Errorf("%s leads", holder)
		}
		return err
	})
	w.apply(t, w.ours(t), "--server-side", "--force-conflicts")
	w.awaitWaiting(t, 2)
	w.endOriginal(t)
	w.awaitHolder(t, leader)
	w.attach(t, "second")
	w.served(t, "second")
}
