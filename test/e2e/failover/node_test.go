package failover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

const (
	// mostLeaderless is how long after the leader's death the standby may take to lead.
	mostLeaderless = 8 * time.Second
	// mostBehind is how long requests may go to a pod that was deleted on another node: since its deletion, or since the
	// node's death if that is later.
	mostBehind = 10 * time.Second
	// replicas is how many pods the app has. A pod is deleted every churnPause until the standby leads. At least one pod
	// must be left then, even if no new pod is ready.
	replicas   = 8
	churnPause = 2 * time.Second
	// afterwards is how long pods are deleted under the new leader.
	afterwards = 10 * time.Second
)

// testDeadNode cuts the leader's node off the network, while pods of an app on the other node are deleted and replaced
// one after another.
func testDeadNode(t *testing.T, w *world) {
	leader := w.awaitHolder(t, "")
	dead, alive := w.nodes(t, leader)
	w.Apply(t, app(alive))
	w.Kubectl(t, "rollout", "status", "deployment/web", "--namespace="+shop, "--timeout=120s")
	address := w.served(t, "first")
	asked := &asked{}
	ctx, stop := context.WithCancel(t.Context())
	var askers sync.WaitGroup
	defer askers.Wait()
	defer stop()
	askers.Go(func() { asked.watchClock(ctx) })
	askers.Go(func() { asked.keepAsking(ctx, w, address) })
	endChurn := w.startChurn(ctx)
	cluster.Eventually(t, "the first pods and three of their successors answer", func(context.Context) error {
		return asked.answered(replicas + 3)
	})
	deletions := endChurn()
	// All pods are ready again, so that there are enough to delete while no reconciler leads, however long new ones take.
	w.Kubectl(t, "rollout", "status", "deployment/web", "--namespace="+shop, "--timeout=120s")

	endChurn = w.startChurn(ctx)
	if _, err := w.Run(t.Context(), cluster.Program{
		Args: []string{"/bin/sh", "-c", "ip link set " + dead + " down"}}); err != nil {
		t.Fatal(err)
	}
	died := time.Now()
	w.awaitHolder(t, leader)
	led := time.Since(died)
	time.Sleep(afterwards)
	deletions = append(deletions, endChurn()...)
	cluster.Eventually(t, "only pods that stay are asked", func(context.Context) error {
		return asked.onlyOthers(deletions)
	})
	lease, err := w.Client.CoordinationV1().Leases(namespace).Get(t.Context(), "svc-mux", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := asked.since(died, deletions)
	t.Logf("the node died; after %s the standby had the lease (transition %d); %d pods were deleted before and %d "+
		"meanwhile; %d requests went to these pods, the last to %s after %s; %d requests failed; the machine stood still "+
		"for %s",
		led.Round(time.Millisecond), *lease.Spec.LeaseTransitions, seen.before, seen.meanwhile, seen.answers, seen.latest,
		seen.last.Round(time.Millisecond), seen.failed, seen.stood.Round(time.Millisecond))
	if led > mostLeaderless+seen.stood {
		t.Errorf("the standby led after %s, on a machine that stood still for %s", led, seen.stood)
	}
	if seen.last > mostBehind+seen.stood {
		t.Errorf("requests went to the deleted pod %s for %s, on a machine that stood still for %s", seen.latest, seen.last,
			seen.stood)
	}
	if leaderless := deletedIn(deletions, died, died.Add(led)); leaderless == 0 || seen.answers == 0 {
		t.Errorf("%d pods were deleted while no reconciler led, and %d requests went to deleted pods: this shows nothing",
			leaderless,
			seen.answers)
	}
}

// nodes returns the leader's node, and the other reconciler's. A pod of the original, or one that ends, may still be
// there.
func (w *world) nodes(t *testing.T, leader string) (dead, alive string) {
	t.Helper()
	for _, pod := range w.pods(t, namespace, ours) {
		switch {
		case pod.DeletionTimestamp != nil:
		case strings.HasPrefix(leader, pod.Name+"_"):
			dead = pod.Spec.NodeName
		default:
			alive = pod.Spec.NodeName
		}
	}
	if dead == "" || alive == "" || dead == alive {
		t.Fatalf("the reconcilers share node %q, or there aren't two: %q", dead, alive)
	}
	return dead, alive
}

// app runs pods on one node. A pod that is told to end keeps serving, so requests to it are answered and can be
// counted.
func app(node string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %s}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {kubernetes.io/hostname: %s}
      terminationGracePeriodSeconds: 300
      containers:
      - name: web
        image: %s
        args: [serve]
        readinessProbe: {httpGet: {path: /readyz, port: 8080}, periodSeconds: 1, failureThreshold: 30}
        lifecycle: {preStop: {exec: {command: [/pod, leave, "5"]}}}`, shop, replicas, node, cluster.PodImage)
}

// deletion is a pod that churn deleted, and when.
type deletion struct {
	pod string
	at  time.Time
}

// startChurn begins to delete pods. The returned function ends that, and returns the deleted pods.
func (w *world) startChurn(ctx context.Context) (end func() []deletion) {
	ctx, stop := context.WithCancel(ctx)
	churned := make(chan []deletion, 1)
	go func() { churned <- w.churn(ctx) }()
	return func() []deletion {
		stop()
		return <-churned
	}
}

// churn deletes the oldest ready pod of the app at each tick, as long as another one is ready. The Deployment replaces
// it.
func (w *world) churn(ctx context.Context) (deletions []deletion) {
	for ctx.Err() == nil {
		if oldest, err := w.oldest(ctx); err == nil && oldest != "" {
			at := time.Now()
			if w.Client.CoreV1().Pods(shop).Delete(ctx, oldest, metav1.DeleteOptions{}) == nil {
				deletions = append(deletions, deletion{oldest, at})
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(churnPause):
		}
	}
	return deletions
}

// oldest returns the oldest ready pod of the app, or an empty string if there is no other ready pod.
func (w *world) oldest(ctx context.Context) (string, error) {
	list, err := w.Client.CoreV1().Pods(shop).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		return "", err
	}
	ready := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	if len(ready) < 2 {
		return "", nil
	}
	return slices.MinFunc(ready,
		func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) }).Name, nil
}

func deletedIn(deletions []deletion, from, to time.Time) (count int) {
	for _, d := range deletions {
		if d.at.After(from) && d.at.Before(to) {
			count++
		}
	}
	return count
}

// asked records the pod and the time of each answer.
type asked struct {
	mu      sync.Mutex
	answers []answer
	failed  []time.Time
	gaps    []gap
}

type answer struct {
	pod string
	at  time.Time
}

// gap is a period in which this machine didn't run this process.
type gap struct {
	at   time.Time
	long time.Duration
}

func (a *asked) keepAsking(ctx context.Context, w *world, address string) {
	for ctx.Err() == nil {
		name, err := packets.HTTP(ctx, w.Outside(), address)
		a.mu.Lock()
		if err != nil {
			a.failed = append(a.failed, time.Now())
		} else {
			a.answers = append(a.answers, answer{name, time.Now()})
		}
		a.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
}

// watchClock records ticks of 50 ms that came late.
func (a *asked) watchClock(ctx context.Context) {
	const tick = 50 * time.Millisecond
	for last := time.Now(); ctx.Err() == nil; last = time.Now() {
		time.Sleep(tick)
		if late := time.Since(last) - 2*tick; late > 0 {
			a.mu.Lock()
			a.gaps = append(a.gaps, gap{last, late})
			a.mu.Unlock()
		}
	}
}

// answered returns an error until the given number of pods has answered.
func (a *asked) answered(pods int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	by := map[string]bool{}
	for _, answer := range a.answers {
		by[answer.pod] = true
	}
	if len(by) < pods {
		return fmt.Errorf("%d pods answered, and %d requests failed", len(by), len(a.failed))
	}
	return nil
}

// inARow is how many consecutive answers must come from pods that weren't deleted: so many rule out chance.
const inARow = 100

// onlyOthers returns an error until the last answers all came from pods that weren't deleted.
func (a *asked) onlyOthers(deletions []deletion) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	gone := map[string]bool{}
	for _, d := range deletions {
		gone[d.pod] = true
	}
	others := 0
	for _, answer := range slices.Backward(a.answers) {
		if gone[answer.pod] {
			break
		}
		others++
	}
	if others < inARow {
		return fmt.Errorf("only %d answers of other pods since the last one of a deleted pod", others)
	}
	return nil
}

// summary describes the time after the node's death.
type summary struct {
	before, meanwhile int // pods deleted before the node's death, and later
	// longest time for which a deleted pod was asked: since its deletion, or the node's death if later
	last            time.Duration
	latest          string        // the pod with the longest time
	answers, failed int           // answers of pods after their deletion; failures of all requests
	stood           time.Duration // time for which this machine stood still
}

func (a *asked) since(died time.Time, deletions []deletion) (s summary) {
	a.mu.Lock()
	defer a.mu.Unlock()
	from := map[string]time.Time{}
	for _, d := range deletions {
		from[d.pod] = d.at
		if d.at.Before(died) {
			from[d.pod] = died
			s.before++
		} else {
			s.meanwhile++
		}
	}
	for _, answer := range a.answers {
		since, deleted := from[answer.pod]
		if !deleted || !answer.at.After(since) {
			continue
		}
		s.answers++
		if took := answer.at.Sub(since); took > s.last {
			s.last, s.latest = took, answer.pod
		}
	}
	for _, at := range a.failed {
		if at.After(died) {
			s.failed++
		}
	}
	for _, g := range a.gaps {
		if g.at.After(died) {
			s.stood += g.long
		}
	}
	return s
}
