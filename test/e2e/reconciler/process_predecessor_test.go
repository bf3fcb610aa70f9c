package reconciler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// TestNoneLeadsWhileAPredecessorRuns uses pods of the Python original, which uses no lease.
func TestNoneLeadsWhileAPredecessorRuns(t *testing.T) {
	t.Parallel()
	s := &scene{world: start(t)}
	h := s.remember(t)
	mux := s.mux(t, "mux")
	s.original(t, "before")
	s.pod(t, "ours", map[string]string{"app": "svc-mux", "election": "lease"})
	run, proxy := s.candidate(t, func(p *reconciler.Process) { p.Options.Predecessors = "app=svc-mux,election!=lease" })
	first := s.channel(t, "shop", "one", mux)

	run.awaitLog(t, "waits to lead")
	run.awaitLeads(t, false) // the process is ready, so that a rollout ends the predecessor
	s.wroteNothingYet(t, proxy)
	s.endPod(t, "before")
	run.awaitLeads(t, true)
	s.awaitServed(t, first, "http:80->20000")

	t.Run("as after a rollback", func(t *testing.T) {
		s.original(t, "again")
		run.awaitLeads(t, false)
		stopped := proxy.Snapshot()
		second := s.channel(t, "shop", "two", mux)
		awaitLists(t, proxy)
		if writes := proxy.Snapshot().Sub(stopped).Where(writesOfWork); writes.Total() > 0 {
			t.Errorf("the process wrote while a predecessor ran:\n%s", writes)
		}
		if holder := s.leaseHolder(t); holder != "" {
			t.Errorf("the lease is still held by %s", holder)
		}
		s.endPod(t, "again")
		run.awaitLeads(t, true)
		s.awaitServed(t, second, "http:80->20001")
	})
	t.Run("a leader continues while pods can't be listed", func(t *testing.T) {
		down := proxy.Add(faults.Rule{Match: faults.Match{Resource: "pods"}, Do: faults.Answer(500)})
		awaitLists(t, proxy)
		run.awaitLeads(t, true)
		down.Remove()
	})
	t.Run("without the right to list pods", func(t *testing.T) {
		forbid := proxy.Add(faults.Rule{Match: faults.Match{Resource: "pods"}, Do: faults.Answer(403)})
		run.awaitAnswer(t, "/leaderz", "200 leads\n")
		run.awaitNotReady(t, "grant list of pods in namespace "+muxNamespace)
		other, proxied := s.candidate(t, func(p *reconciler.Process) {
			p.Options.Predecessors = "app=svc-mux,election!=lease"
		})
		refuse := proxied.Add(faults.Rule{Match: faults.Match{Resource: "pods"}, Do: faults.Answer(403)})
		other.awaitNotReady(t, "grant list of pods in namespace "+muxNamespace)
		run.stop()
		awaitLists(t, proxied)
		other.awaitAnswer(t, "/leaderz", "503 waits to lead\n")
		forbid.Remove()
		refuse.Remove()
		other.awaitLeads(t, true)
	})
	checkPromises(t, h.soFar(t))
}

// original creates a pod of the original. It is never scheduled, and counts as a predecessor from its creation on.
func (s *scene) original(t *testing.T, name string) {
	t.Helper()
	s.pod(t, name, map[string]string{"app": "svc-mux"})
}

func (s *scene) pod(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	_, err := s.user.CoreV1().Pods(muxNamespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: ptr.To(false), NodeSelector: map[string]string{"no": "node"},
			Containers: []corev1.Container{{Name: "original", Image: cluster.PodImage}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *scene) endPod(t *testing.T, name string) {
	t.Helper()
	err := s.user.CoreV1().Pods(muxNamespace).Delete(t.Context(), name,
		metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitNotReady waits until /readyz gives a reason.
func (r *running) awaitNotReady(t *testing.T, why string) {
	t.Helper()
	cluster.Eventually(t, "/readyz says "+why, func(ctx context.Context) error {
		got, err := r.ask(ctx, "/readyz")
		if err == nil && (!strings.HasPrefix(got, "503 ") || !strings.Contains(got, why)) {
			err = fmt.Errorf("%q", got)
		}
		return err
	})
}

func (r *running) awaitLog(t *testing.T, want string) {
	t.Helper()
	cluster.Eventually(t, "the log says "+want, func(context.Context) error {
		if !strings.Contains(r.log.String(), want) {
			return errors.New("not in the log yet")
		}
		return nil
	})
}

// awaitLists waits for two further lists of predecessors, because the first one may have begun before the call.
func awaitLists(t *testing.T, proxy *faults.Proxy) {
	t.Helper()
	lists := func() int {
		return proxy.Snapshot().Where(func(key faults.Key) bool { return key.Verb == "list" && key.Resource == "pods" }).
			Total()
	}
	before := lists()
	cluster.Eventually(t, "pods are listed twice more", func(context.Context) error {
		if more := lists() - before; more < 2 {
			return fmt.Errorf("%d lists so far", more)
		}
		return nil
	})
}
