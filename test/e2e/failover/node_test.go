package failover

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

const (
	// mostLeaderless is how long after the leader's death the standby may take to lead.
	mostLeaderless = 8 * time.Second
	// mostBehind is how long after the node's death requests may go to a pod that was deleted on another node.
	mostBehind = 10 * time.Second
)

// testDeadNode cuts the leader's node off the network. Then a pod of an app on the other node is deleted, and replaced.
func testDeadNode(t *testing.T, w *world) {
	leader := w.awaitHolder(t, "")
	dead, alive := w.nodes(t, leader)
	w.Apply(t, app(alive))
	w.Kubectl(t, "rollout", "status", "deployment/web", "--namespace="+shop, "--timeout=120s")
	address := w.served(t, "first")
	deleted := w.pods(t, shop, "app=web")[0].Name
	asked := &asked{}
	ctx, stop := context.WithCancel(t.Context())
	var askers sync.WaitGroup
	defer askers.Wait()
	defer stop()
	askers.Go(func() { asked.watchClock(ctx) })
	askers.Go(func() { asked.keepAsking(ctx, w, address, deleted) })
	cluster.Eventually(t, deleted+" answers", func(context.Context) error { return asked.answered() })

	if _, err := w.Run(t.Context(), cluster.Program{Args: []string{"/bin/sh", "-c", "ip link set " + dead + " down"}}); err != nil {
		t.Fatal(err)
	}
	died := time.Now()
	w.Kubectl(t, "delete", "pod", deleted, "--namespace="+shop, "--wait=false")
	w.awaitHolder(t, leader)
	led := time.Since(died)
	cluster.Eventually(t, deleted+" is asked no more", func(context.Context) error { return asked.onlyOthers() })
	lease, err := w.Client.CoordinationV1().Leases(namespace).Get(t.Context(), "svc-mux", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := asked.since(died)
	t.Logf("the node died; after %s the standby had the lease (transition %d), after %s the last of %d requests went to a pod deleted "+
		"meanwhile; %d requests failed; the machine stood still for %s", led.Round(time.Millisecond), *lease.Spec.LeaseTransitions,
		seen.last.Round(time.Millisecond), seen.answers, seen.failed, seen.stood.Round(time.Millisecond))
	if led > mostLeaderless+seen.stood {
		t.Errorf("the standby led after %s, on a machine that stood still for %s", led, seen.stood)
	}
	if seen.last > mostBehind+seen.stood {
		t.Errorf("requests went to the deleted pod for %s, on a machine that stood still for %s", seen.last, seen.stood)
	}
}

// nodes returns the leader's node, and the other reconciler's.
func (w *world) nodes(t *testing.T, leader string) (dead, alive string) {
	t.Helper()
	for _, pod := range w.pods(t, namespace, selector) {
		if strings.HasPrefix(leader, pod.Name+"_") {
			dead = pod.Spec.NodeName
		} else {
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
  replicas: 3
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
        lifecycle: {preStop: {exec: {command: [/pod, leave, "5"]}}}`, shop, node, cluster.PodImage)
}

// asked counts the answers of one pod, and of others.
type asked struct {
	mu     sync.Mutex
	by     []time.Time // times of the pod's answers
	others int         // number of other pods' answers since then
	failed []time.Time
	gaps   []gap
}

// gap is a period in which this machine didn't run this process.
type gap struct {
	at   time.Time
	long time.Duration
}

func (a *asked) keepAsking(ctx context.Context, w *world, address, pod string) {
	for ctx.Err() == nil {
		name, err := packets.HTTP(ctx, w.Outside(), address)
		a.mu.Lock()
		switch {
		case err != nil:
			a.failed = append(a.failed, time.Now())
		case name == pod:
			a.by, a.others = append(a.by, time.Now()), 0
		default:
			a.others++
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

func (a *asked) answered() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.by) == 0 {
		return fmt.Errorf("other pods answered %d times, and %d requests failed", a.others, len(a.failed))
	}
	return nil
}

// inARow is the number of consecutive answers of other pods that rules out chance, with one of three pods under test.
const inARow = 100

func (a *asked) onlyOthers() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.others < inARow {
		return fmt.Errorf("only %d answers of other pods since its last one", a.others)
	}
	return nil
}

// summary describes the time after some moment.
type summary struct {
	last            time.Duration // time until the pod's last answer
	answers, failed int           // answers of the pod; failures of all requests
	stood           time.Duration // time for which this machine stood still
}

func (a *asked) since(from time.Time) (s summary) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.by {
		if at.After(from) {
			s.last, s.answers = at.Sub(from), s.answers+1
		}
	}
	for _, at := range a.failed {
		if at.After(from) {
			s.failed++
		}
	}
	for _, g := range a.gaps {
		if g.at.After(from) {
			s.stood += g.long
		}
	}
	return s
}
