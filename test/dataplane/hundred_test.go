package dataplane

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

const (
	crowd   = 100 // number of apps, each a pod and a channel
	running = 10  // number of apps that really run; kwok plays the others, and packets.StandIn answers for them
)

// one returns the namespace of app number i, and the name of its pod and its channel.
func one(i int) (namespace, name string) {
	return fmt.Sprintf("team-%d", i%teams), fmt.Sprintf("app-%d", i)
}

// testHundred checks the original's main promise: at every public port, the channel's own pod answers.
func testHundred(t *testing.T, w *world) {
	w.mux(t, "public", annotation("port-range", "20000-20299"))
	for i := range teams {
		namespace, _ := one(i)
		w.namespaces(t, namespace)
	}
	var pods, channels strings.Builder
	for i := range crowd {
		namespace, name := one(i)
		pods.WriteString(podOfCrowd(namespace, name, i < running))
		channels.WriteString(channelIn(namespace, name, "public", name, "http:auto", onePort))
	}
	w.Apply(t, pods.String())
	w.Apply(t, channels.String())
	w.crowdRuns(t)
	if err := packets.StandIn(w.life, w.Cluster, 8080); err != nil {
		t.Fatal(err)
	}
	w.everyone(t, "public", crowd)
}

func podOfCrowd(namespace, name string, runs bool) string {
	where := fmt.Sprintf(`nodeSelector: {%[1]s: "true"}, tolerations: [{key: %[1]s, operator: Exists}],`, cluster.FakeNode)
	if runs {
		where = ""
	}
	return fmt.Sprintf(`
---
{apiVersion: v1, kind: Pod, metadata: {name: %[1]s, namespace: %[2]s, labels: {app: %[1]s}},
 spec: {%[3]s terminationGracePeriodSeconds: 1, containers: [{name: serve, image: "%[4]s", args: [serve]}]}}`,
		name, namespace, where, cluster.PodImage)
}

// crowdRuns waits until every pod of the crowd has an address.
func (w *world) crowdRuns(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, "the crowd is ready", func(ctx context.Context) error {
		pods, err := w.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for i := range pods.Items {
			if strings.HasPrefix(pods.Items[i].Namespace, "team-") && isReady(&pods.Items[i]) {
				ready++
			}
		}
		if ready != crowd {
			return fmt.Errorf("%d are", ready)
		}
		return nil
	})
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && pod.Status.PodIP != ""
		}
	}
	return false
}

// everyone sends requests to all channels of a mux at once, from outside, as soon as they are programmed, over every
// family.
func (w *world) everyone(t *testing.T, mux string, want int) {
	t.Helper()
	services, err := w.Client.CoreV1().Services(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	class := prefix + "/" + mux + "." + edge
	addresses := w.addresses(t, edge, mux)
	var mu sync.Mutex
	var asked sync.WaitGroup
	var ok, missing, failed int
	for i := range services.Items {
		svc := &services.Items[i]
		if svc.Spec.LoadBalancerClass == nil || *svc.Spec.LoadBalancerClass != class {
			continue
		}
		port, programmed := w.ports(t, svc.Namespace, svc.Name)["http"]
		asked.Go(func() {
			right := ofApp(svc.Spec.Selector["app"])
			var wrong error
			for _, ip := range addresses {
				wrong = firstOf(wrong, w.soonAnswers(t.Context(), at(ip, port), right))
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case !programmed:
				missing++
			case wrong != nil:
				failed++
				t.Errorf("%s/%s: %v", svc.Namespace, svc.Name, wrong)
			default:
				ok++
			}
		})
	}
	asked.Wait()
	t.Logf("%s: ok=%d missing=%d failed=%d", mux, ok, missing, failed)
	if ok != want || missing+failed > 0 {
		t.Errorf("%s: at %d of %d channels, the own pod answers", mux, ok, want)
	}
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// soonAnswers allows kube-proxy some time to program a new port. Until then the port may be silent, but another
// channel's pod must never answer.
func (w *world) soonAnswers(ctx context.Context, address string, right func(string) bool) error {
	var last error
	for range 20 {
		pod, err := packets.HTTP(ctx, w.Outside(), address)
		if err == nil && !right(pod) {
			return wrongAnswer{address, pod}
		}
		if err == nil {
			return nil
		}
		last = err
	}
	return last
}

// wrongAnswer is the answer of another channel's pod.
type wrongAnswer struct{ address, by string }

func (w wrongAnswer) Error() string { return fmt.Sprintf("at %s, pod %q answers", w.address, w.by) }

// testFull fills a GKE mux: GKE's load balancers have a hundred ports. Its owner declares that the mux has no
// placeholder.
func testFull(t *testing.T, w *world) {
	w.mux(t, "gke", annotation("port-range", "30000-30299"), annotation("placeholder", "remove"),
		`cloud.google.com/l4-rbs: "enabled"`)
	var channels strings.Builder
	for i := range crowd {
		namespace, name := one(i)
		channels.WriteString(channelIn(namespace, name+"-gke", "gke", name, "http:auto", onePort))
	}
	w.Apply(t, channels.String())
	w.everyone(t, "gke", crowd)
	if ports := w.service(t, edge, "gke").Spec.Ports; len(ports) != crowd {
		t.Errorf("the mux has %d ports", len(ports))
	}
	namespace, name := one(0)
	w.Apply(t, channelIn(namespace, "one-too-many", "gke", name, "http:auto", onePort))
	cluster.Eventually(t, "the next is refused, with an Event", func(ctx context.Context) error {
		svc := w.service(t, namespace, "one-too-many")
		if !says(svc, "Accepted", metav1.ConditionFalse) || len(svc.Status.LoadBalancer.Ingress) > 0 {
			return fmt.Errorf("status: %v", svc.Status)
		}
		events, err := w.Client.CoreV1().Events(namespace).List(ctx,
			metav1.ListOptions{FieldSelector: "involvedObject.name=one-too-many,type=Warning"})
		if err != nil {
			return err
		}
		for i := range events.Items {
			if events.Items[i].Reason == "MuxPortLimitExceeded" && strings.Contains(events.Items[i].Message, " 100 ") {
				t.Logf("%s: %s", events.Items[i].Reason, events.Items[i].Message)
				return nil
			}
		}
		return fmt.Errorf("none of %d Events names the limit", len(events.Items))
	})
	w.leaveGKE(t, 7)
	if port := w.ports(t, namespace, "one-too-many")["http"]; port == 0 {
		t.Error("a channel without a port is programmed")
	} else if err := w.soonAnswers(t.Context(), at(w.address(t, edge, "gke"), port), ofApp(name)); err != nil {
		t.Error(err)
	}
}

// leaveGKE deletes a channel of the full mux.
func (w *world) leaveGKE(t *testing.T, i int) {
	t.Helper()
	namespace, name := one(i)
	w.Kubectl(t, "delete", "service", name+"-gke", "--namespace="+namespace)
}
