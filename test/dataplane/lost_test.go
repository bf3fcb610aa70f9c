package dataplane

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
	"nowake.ai/svc-lb-mux/test/long"
	"nowake.ai/svc-lb-mux/test/product"
)

// testNoneLost sends requests to two channels in every way without pause. One channel never changes; the other's pods
// come and go.
func testNoneLost(t *testing.T, w *world) {
	w.mux(t, "busy", annotation("port-range", "20000-20199"))
	w.Apply(t, app("still", 2, onNode("node-1"))+app("moving", 3))
	w.Apply(t, channel("still", "busy", "still", "tcp:auto,udp:auto", both()...)+channel("moving", "busy", "moving",
		"tcp:auto,udp:auto", both()...))
	w.rolledOut(t, "still", "moving")
	streams, numbers := w.streams(t, "still", "moving")
	objects, wires := w.watchMux(t, "busy", w.muxNames(t, "busy", "still", "moving")...), w.countPassedBy(t, numbers...)
	load := packets.Start(t.Context(), w.Outside(), streams...)
	defer load.End()
	// kept across stories: a connection that passed kube-proxy's rules is counted as lost only seconds later
	var passed cluster.Allowances
	look := func(t *testing.T) {
		looks, gaps := objects.take()
		if looks == 0 {
			t.Error("the watch of kube-proxy's objects saw nothing")
		}
		for _, gap := range gaps {
			t.Errorf("the objects that kube-proxy reads had a gap: %s", gap)
		}
		load.AwaitAnswers()
		now, counts := wires(), load.Take()
		t.Logf("the objects were looked at %d times; %d connections passed kube-proxy's rules untranslated, and %d before",
			looks, len(now), len(passed))
		passed = append(passed, now...)
		check(t, counts, w.farewells.toldToEnd(), &passed)
		for _, count := range counts {
			if count.Asked == len(count.Lost) {
				t.Errorf("%s, %s to %s: no request was answered", count.Stream.Name, count.Stream.Kind, count.Stream.Address)
			}
			for _, how := range count.Ended {
				if count.Stream.Name == "still" {
					t.Errorf("the kept connection to %s ended: %s", count.Stream.Address, how)
				}
			}
		}
		lastAsked(t, load.Heard(), w.farewells.toldToEnd())
		w.whatPodsDid(t)
	}
	for _, story := range []struct {
		name string
		run  func(*testing.T)
		long bool
	}{
		{"the pods are rolled", w.roll, false},
		{"3 pods become 10, then 1, then 3", w.scale, true}, // a roll adds and removes pods, too
		{"a node is drained", w.drain, true},                // test/e2e/failover kills a node
		// the simulation tests that, and the next story writes the mux under traffic
		{"fifty channels come and go", w.comeAndGo, true},
		{"ports are renamed", w.renamePorts, false},
		// a broken ledger freezes the mux in the same way
		{"ports are renamed while the mux is paused", w.renameWhilePaused, true},
		{"the leader is killed", w.killLeader, false},
		{"the webhook is down", w.withoutWebhook, true}, // the pods are rolled meanwhile, as above
		{"the API server restarts", w.restartAPIServer, false},
		{"the ledger is broken, ports are renamed, and it is mended", w.breakLedger, false},
	} {
		if story.long && !long.Runs() {
			t.Logf("NOT COVERED: %s; LONG=1 go test ./test/dataplane", story.name)
			continue
		}
		t.Run(story.name, func(t *testing.T) {
			story.run(t)
			time.Sleep(time.Second) // until kube-proxy has programmed the last change
			look(t)
		})
	}
	load.End() // pending requests are answered, or lost
	passed = append(passed, wires()...)
	check(t, load.Take(), w.farewells.toldToEnd(), &passed)
}

// streams returns a stream for each port of channels, each way to send requests to it, and each family. It also returns
// the ports' public numbers.
func (w *world) streams(t *testing.T, names ...string) (streams []packets.Stream, numbers []string) {
	t.Helper()
	for _, name := range names {
		ports := w.ports(t, shop, name)
		for _, number := range ports {
			numbers = append(numbers, strconv.Itoa(number))
		}
		for _, ip := range w.addresses(t, shop, name) {
			tcp, udp := at(ip, ports["tcp"]), at(ip, ports["udp"])
			w.answers(t, w.Outside(), packets.HTTP, tcp, ofApp(name))
			w.answers(t, w.Outside(), packets.UDP, udp, ofApp(name))
			streams = append(streams,
				packets.Stream{Name: name, Kind: packets.NewConnections, Address: tcp, Right: ofApp(name)},
				packets.Stream{Name: name, Kind: packets.KeptConnection, Address: tcp, Right: ofApp(name)},
				packets.Stream{Name: name, Kind: packets.Datagrams, Address: udp, Right: ofApp(name)})
		}
	}
	return streams, numbers
}

// muxNames returns the names of channels' ports on a mux.
func (w *world) muxNames(t *testing.T, mux string, channels ...string) []string {
	t.Helper()
	var names []string
	for _, channel := range channels {
		for _, number := range w.ports(t, shop, channel) {
			for _, port := range w.service(t, edge, mux).Spec.Ports {
				if int(port.Port) == number {
					names = append(names, port.Name)
				}
			}
		}
	}
	return names
}

// countPassedBy starts to record connections that pass kube-proxy's rules untranslated. The returned function lists
// those since its last call.
func (w *world) countPassedBy(t *testing.T, ports ...string) func() cluster.Allowances {
	t.Helper()
	passedBy, err := w.CountPassedBy(t.Context(), ports...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := passedBy.End(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return func() cluster.Allowances {
		t.Helper()
		passed, err := passedBy.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return passed
	}
}

// both returns two ports with one number, for TCP and UDP.
func both() []string { return bothNamed("tcp", "udp") }

func bothNamed(tcp, udp string) []string {
	return []string{fmt.Sprintf("{name: %s, port: 80, targetPort: 8080}", tcp),
		fmt.Sprintf("{name: %s, port: 80, targetPort: 8080, protocol: UDP}", udp)}
}

// onNode pins pods to a node that isn't drained.
func onNode(name string) string { return "nodeName: " + name }

// check fails the test for each wrong or missing answer, with two exceptions. A datagram may be lost when its flow
// moves; check returns the number of those. A new connection may be lost if a connection passed kube-proxy's rules
// untranslated at that time: the objects that kube-proxy reads had no gap, so the fault is in the rules or in the
// kernel.
func check(t *testing.T, counts []packets.Count, ended map[string]time.Time, passed *cluster.Allowances) (moved int) {
	t.Helper()
	for _, count := range counts {
		stream := fmt.Sprintf("%s, %s to %s", count.Stream.Name, count.Stream.Kind, count.Stream.Address)
		t.Logf("%s: %d asked, %d lost; %d connection(s), the slowest answer after %d ms", stream, count.Asked,
			len(count.Lost),
			count.Dialed, count.Longest.Milliseconds())
		gone := map[string]bool{}
		for _, loss := range count.Lost {
			if hasMoved(count.Stream, loss, ended) && !gone[loss.Before] {
				gone[loss.Before] = true
				moved++
				t.Logf("%s: lost as the flow moved: %s", stream, loss)
				continue
			}
			noRoute := count.Stream.Kind == packets.NewConnections && strings.HasSuffix(loss.Why.Error(), cluster.NoRoute)
			if noRoute && passed.Excuse(loss.Asked) {
				t.Logf("%s: lost as it passed kube-proxy's rules: %s", stream, loss)
				continue
			}
			t.Errorf("%s: lost: %s", stream, loss)
		}
	}
	return moved
}

// hasMoved returns whether a datagram was lost because its flow moved: before it, a pod answered that had been told to
// end, and after it another pod. The first pod still ran, since it stays while it gets requests. kube-proxy drops the
// flow of a pod that isn't ready. An answer under way then finds no way back, with any Service: see testFlows.
func hasMoved(stream packets.Stream, loss packets.Loss, ended map[string]time.Time) bool {
	told, known := ended[loss.Before]
	return stream.Kind == packets.Datagrams && loss.After != "" && loss.After != loss.Before && known &&
		loss.Asked.After(told.Add(-time.Second))
}

// lastAsked logs how long pods still got datagrams after they were told to end. That is the delay until kube-proxy
// follows.
func lastAsked(t *testing.T, heard, ended map[string]time.Time) {
	t.Helper()
	var longest time.Duration
	for pod, last := range heard {
		if at, told := ended[pod]; told {
			longest = max(longest, last.Sub(at))
		}
	}
	t.Logf("pods that were told to end got datagrams for at most %s more", longest.Round(100*time.Millisecond))
}

// whatPodsDid logs, if the test failed, which pods were told to end, and which Kubernetes made unready: on a busy
// machine, a pod may answer a probe too late.
func (w *world) whatPodsDid(t *testing.T) {
	if t.Failed() {
		t.Log(w.Unanswered(t.Context()))
		for _, reason := range []string{"Killing", "Unhealthy"} {
			t.Log(w.Kubectl(t, "get", "events", "--namespace="+shop, "--field-selector=reason="+reason,
				"--sort-by=.metadata.creationTimestamp",
				"--output=custom-columns=AT:.metadata.creationTimestamp,LAST:.lastTimestamp,POD:.involvedObject.name,"+
					"MESSAGE:.message"))
		}
	}
}

func (w *world) roll(t *testing.T) {
	w.Kubectl(t, "rollout", "restart", "deployment/moving", "--namespace="+shop)
	w.rolledOut(t, "moving")
	w.onlyReadyPods(t, "moving")
}

func (w *world) scale(t *testing.T) {
	for _, replicas := range []int{10, 1, 3} {
		w.Kubectl(t, "scale", "deployment/moving", fmt.Sprintf("--replicas=%d", replicas), "--namespace="+shop)
		w.rolledOut(t, "moving")
		w.onlyReadyPods(t, "moving")
	}
}

// onlyReadyPods waits until all pods of an app are ready, and none is terminating.
func (w *world) onlyReadyPods(t *testing.T, app string) {
	t.Helper()
	cluster.Eventually(t, "all pods are ready", func(ctx context.Context) error {
		pods, err := w.Client.CoreV1().Pods(shop).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			if !isReady(&pods.Items[i]) || pods.Items[i].DeletionTimestamp != nil {
				return fmt.Errorf("%s is unready or terminating", pods.Items[i].Name)
			}
		}
		return nil
	})
}

// drain evicts pods as `kubectl drain` does. A PodDisruptionBudget keeps a pod running until its replacement is ready
// elsewhere.
func (w *world) drain(t *testing.T) {
	if on := w.Kubectl(t, "get", "pods", "--all-namespaces", "--field-selector=spec.nodeName=node-2",
		"--output=name"); !strings.Contains(on, "/moving-") {
		t.Errorf("none of the moving pods is on the drained node: %s", on)
	}
	w.Apply(t, fmt.Sprintf(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: moving, namespace: %s},
		spec: {minAvailable: 2, selector: {matchLabels: {app: moving}}}}`, shop))
	w.Kubectl(t, "drain", "node-2", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=300s")
	w.rolledOut(t, "moving")
	w.Kubectl(t, "uncordon", "node-2")
}

func (w *world) comeAndGo(t *testing.T) {
	var channels strings.Builder
	for i := range 50 {
		channels.WriteString(channel(fmt.Sprintf("guest-%d", i), "busy", "still", "http:auto", onePort))
	}
	w.Apply(t, channels.String())
	for i := range 50 {
		w.ports(t, shop, fmt.Sprintf("guest-%d", i))
	}
	if _, err := w.TryKubectl(t.Context(), channels.String(), "delete", "--filename=-"); err != nil {
		t.Fatal(err)
	}
	w.alone(t)
}

// alone waits until the mux has only its own port and the ports of the two channels under test.
func (w *world) alone(t *testing.T) {
	t.Helper()
	want := map[string]int{"placeholder": 1}
	for _, name := range []string{"still", "moving"} {
		for _, port := range w.ports(t, shop, name) {
			want[strconv.Itoa(port)]++
		}
	}
	cluster.Eventually(t, "the mux has no guest's port", func(context.Context) error {
		got := map[string]int{}
		for _, port := range w.service(t, edge, "busy").Spec.Ports {
			if port.Name == "placeholder" {
				got[port.Name]++
			} else {
				got[strconv.Itoa(int(port.Port))]++
			}
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("the mux has %v, want %v", got, want)
		}
		return nil
	})
}

// works checks that the reconciler works: it creates a channel, waits for its answer, and deletes it.
func (w *world) works(t *testing.T) {
	t.Helper()
	w.Apply(t, channel("newcomer", "busy", "still", "http:auto", onePort))
	w.answers(t, w.Outside(), packets.HTTP, w.public(t, "newcomer", "http"), ofApp("still"))
	w.Kubectl(t, "delete", "service", "newcomer", "--namespace="+shop)
	w.alone(t)
}

func (w *world) killLeader(t *testing.T) {
	before := w.leader(t)
	pod, _, _ := strings.Cut(before, "_")
	w.kill(t, pod)
	cluster.Eventually(t, "another leads", func(context.Context) error {
		if now := w.leader(t); now == before {
			return fmt.Errorf("%s still leads", now)
		}
		return nil
	})
	w.works(t)
}

// kill kills a pod's processes at once. Even `kubectl delete --force` would let them shut down.
func (w *world) kill(t *testing.T, pod string) {
	t.Helper()
	const script = `for process in /proc/[0-9]*; do
		if tr '\0' '\n' <"$process/environ" | grep -qx "HOSTNAME=$0"; then kill -KILL "${process#/proc/}" && echo killed; fi
	done 2>/dev/null`
	out, err := w.Run(t.Context(), cluster.Program{Args: []string{"/bin/sh", "-c", script, pod}})
	if err != nil || !strings.Contains(out.Stdout, "killed") {
		t.Fatalf("no process of %s found: %v %s", pod, err, out.Stdout)
	}
}

// leader returns the holder of the reconcilers' lease.
func (w *world) leader(t *testing.T) string {
	t.Helper()
	lease, err := w.Client.CoordinationV1().Leases(product.Namespace).Get(t.Context(), product.Release,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// withoutWebhook stops all webhooks. The reconciler's writes aren't reviewed, so traffic must not change.
func (w *world) withoutWebhook(t *testing.T) {
	w.Apply(t, channel("leaver", "busy", "still", "http:auto", onePort))
	w.ports(t, shop, "leaver")
	w.Kubectl(t, "scale", "deployment/svc-mux-webhook", "--replicas=0", "--namespace="+product.Namespace)
	w.Kubectl(t, "wait", "--for=delete", "pod", "--selector=app.kubernetes.io/name=svc-mux-webhook",
		"--namespace="+product.Namespace, "--timeout=60s")
	if _, err := w.TryKubectl(t.Context(), channel("refused", "busy", "still", "http:auto", onePort), "apply",
		"--filename=-"); err == nil {
		t.Error("a channel is accepted without a review")
	}
	w.roll(t)
	w.Kubectl(t, "delete", "service", "leaver", "--namespace="+shop)
	w.alone(t)
	w.Kubectl(t, "scale", "deployment/svc-mux-webhook", "--replicas=2", "--namespace="+product.Namespace)
	w.Kubectl(t, "rollout", "status", "deployment/svc-mux-webhook", "--namespace="+product.Namespace, "--timeout=120s")
	cluster.Eventually(t, "the webhook is reached again", func(ctx context.Context) error {
		_, err := w.TryKubectl(ctx, channel("newcomer", "busy", "still", "http:auto", onePort), "apply", "--filename=-",
			"--dry-run=server")
		return err
	})
	w.works(t)
}

func (w *world) restartAPIServer(t *testing.T) {
	server := w.Component("kube-apiserver")
	if err := server.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // traffic continues without the API server
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if err := w.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.works(t)
}

// breakLedger freezes the mux: channels keep their ports, and no channel gets a port until the ledger is restored.
func (w *world) breakLedger(t *testing.T) {
	ledger, err := w.Client.CoreV1().ConfigMaps(edge).Get(t.Context(), "busy-port-allocations", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.patchLedger(t, `{"data":{"allocations.json":"{broken"}}`)
	w.Apply(t, channel("patient", "busy", "still", "http:auto", onePort))
	cluster.Eventually(t, "the newcomer waits", func(context.Context) error {
		svc := w.service(t, shop, "patient")
		if !says(svc, "Accepted", metav1.ConditionFalse) {
			return fmt.Errorf("status: %v", svc.Status)
		}
		return nil
	})
	w.rename(t, "broken-web", "broken-dns")
	w.roll(t)
	w.mend(t, ledger)
	w.awaitNames(t, "broken-web", "broken-dns")
	w.answers(t, w.Outside(), packets.HTTP, w.public(t, "patient", "http"), ofApp("still"))
	w.Kubectl(t, "delete", "service", "patient", "--namespace="+shop)
	w.alone(t)
}

// mend restores the ledger, as the runbook says.
func (w *world) mend(t *testing.T, ledger *corev1.ConfigMap) {
	t.Helper()
	now, err := w.Client.CoreV1().ConfigMaps(edge).Get(t.Context(), ledger.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now.Data = ledger.Data
	if _, err := w.Client.CoreV1().ConfigMaps(edge).Update(t.Context(), now, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) patchLedger(t *testing.T, patch string) {
	t.Helper()
	if _, err := w.Client.CoreV1().ConfigMaps(edge).Patch(t.Context(), "busy-port-allocations",
		types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
