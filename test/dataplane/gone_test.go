package dataplane

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

// testReadiness makes one of two pods unready and ready again, and logs how late packets follow. With a provider, it
// measures both through the mux and through a Service with its own load balancer, which shows the delay of kube-proxy
// itself.
func testReadiness(t *testing.T, w *world) {
	w.mux(t, "ready", annotation("port-range", "20000-20099"))
	w.Apply(t, app("pair", 2)+channel("pair", "ready", "pair", "http:auto", onePort))
	w.rolledOut(t, "pair")
	through := map[string]string{"the mux": w.public(t, "pair", "http")}
	if w.class == "" {
		w.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: own-pair, namespace: %s},
			spec: {type: LoadBalancer, selector: {app: pair}, ports: [%s]}}`, shop, onePort))
		through["a Service of its own"] = at(w.address(t, shop, "own-pair"), 80)
	}
	pods, err := w.Client.CoreV1().Pods(shop).List(t.Context(), metav1.ListOptions{LabelSelector: "app=pair"})
	if err != nil || len(pods.Items) != 2 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	for _, address := range through {
		w.answers(t, w.Outside(), packets.HTTP, address, ofApp("pair"))
	}
	w.flips(t, &pods.Items[0], through, "/unready", false)
	w.flips(t, &pods.Items[0], through, "/ready", true)
}

// flips changes the readiness of a pod, and waits until packets follow the channel's own slice.
func (w *world) flips(t *testing.T, pod *corev1.Pod, through map[string]string, how string, want bool) {
	t.Helper()
	known := w.learns(t, pod.Name, want)
	asked := map[string]*witness{}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	for name, address := range through {
		of := &witness{}
		asked[name] = of
		done.Go(func() { of.ask(ctx, w, address, pod.Name) })
	}
	defer done.Wait()
	defer stop()
	response, err := w.Inside().HTTP().Post("http://"+net.JoinHostPort(pod.Status.PodIP, "8080")+how, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	at, told := <-known
	if !told {
		t.Fatalf("no slice shows readiness %[2]t of pod %[1]s", pod.Name, want)
	}
	for name, of := range asked {
		cluster.Eventually(t, "packets follow through "+name, func(context.Context) error { return of.follows(want, at) })
		t.Logf("ready=%t: on the wire through %s %d ms after the channel's own slice said so", want, name,
			of.behind(want, at).Milliseconds())
	}
}

// learns sends the time at which a slice of the channel first shows a pod's readiness as wanted.
func (w *world) learns(t *testing.T, pod string, want bool) <-chan time.Time {
	t.Helper()
	watcher, err := w.Client.DiscoveryV1().EndpointSlices(shop).Watch(t.Context(),
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=pair"})
	if err != nil {
		t.Fatal(err)
	}
	known := make(chan time.Time, 1)
	go func() {
		defer watcher.Stop()
		defer close(known)
		for event := range watcher.ResultChan() {
			if slice, is := event.Object.(*discoveryv1.EndpointSlice); is &&
				shows([]discoveryv1.EndpointSlice{*slice}, pod, want) {
				known <- time.Now()
				return
			}
		}
	}()
	return known
}

// witness sends requests without pause. It records when a pod answered, and how many answers of other pods followed in
// a row.
type witness struct {
	mu     sync.Mutex
	seen   []time.Time
	others int
	// err is the error of the last request. A single error proves nothing: kube-proxy sometimes lets a new connection pass
	// untranslated.
	err error
}

func (o *witness) ask(ctx context.Context, w *world, address, pod string) {
	for ctx.Err() == nil {
		name, err := packets.HTTP(ctx, w.Outside(), address)
		o.mu.Lock()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			o.err, o.others = err, 0
		case name == pod:
			o.seen, o.others, o.err = append(o.seen, time.Now()), 0, nil
		default:
			o.others, o.err = o.others+1, nil
		}
		o.mu.Unlock()
	}
}

// inARow is the number of consecutive answers of other pods that rules out chance: with two pods, the probability is
// 2^-40.
const inARow = 40

// follows checks that a pod that became unready gets no more requests, or that a pod that became ready gets some.
func (o *witness) follows(want bool, since time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch after := o.after(since); {
	case o.err != nil:
		return o.err
	case want && len(after) == 0:
		return fmt.Errorf("no answer yet, but %d of other pods", o.others)
	case !want && o.others < inARow:
		return fmt.Errorf("only %d answers of other pods since its last one", o.others)
	}
	return nil
}

func (o *witness) after(since time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(o.seen), func(at time.Time) bool { return at.Before(since) })
}

// behind returns the time from the slice's change to the last request of a pod that became unready, or to the first
// request of a pod that became ready.
func (o *witness) behind(want bool, since time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	after := o.after(since)
	switch {
	case len(after) == 0:
		return 0
	case want:
		return after[0].Sub(since)
	}
	return after[len(after)-1].Sub(since)
}

func shows(slices []discoveryv1.EndpointSlice, pod string, ready bool) bool {
	for i := range slices {
		for _, endpoint := range slices[i].Endpoints {
			if endpoint.TargetRef != nil && endpoint.TargetRef.Name == pod && endpoint.Conditions.Ready != nil {
				return *endpoint.Conditions.Ready == ready
			}
		}
	}
	return false
}

// testDeleted checks that a deleted channel no longer answers. Its number stays reserved for the grace, and then
// another channel can get it.
func testDeleted(t *testing.T, w *world) {
	const grace = 30 * time.Second // long enough that the next channels come within it, also on a busy machine
	w.mux(t, "gone", annotation("port-range", "20000-20099"), annotation("release-grace", grace.String()))
	w.Apply(t, app("a", 1)+app("b", 1))
	w.rolledOut(t, "a", "b")
	w.Apply(t, channel("first", "gone", "a", "http:auto", onePort)+channel("second", "gone", "b", "http:auto", onePort))
	address, freed := w.public(t, "first", "http"), w.ports(t, shop, "first")["http"]
	second := w.public(t, "second", "http")
	w.answers(t, w.Outside(), packets.HTTP, address, ofApp("a"))
	w.answers(t, w.Outside(), packets.HTTP, second, ofApp("b"))

	before := time.Now()
	w.Kubectl(t, "delete", "service", "first", "--namespace="+shop)
	begin := time.Now()
	cluster.Eventually(t, "the deleted channel no longer answers", func(ctx context.Context) error {
		pod, err := packets.HTTP(ctx, w.Outside(), address)
		if err == nil && !ofApp("a")(pod) {
			t.Fatalf("at %s, pod %q answers", address, pod)
		}
		if err == nil {
			return fmt.Errorf("%q answers", pod)
		}
		t.Logf("a deleted channel's port is silent: %v, %d ms after kubectl returned", err, time.Since(begin).Milliseconds())
		return nil
	})
	w.Apply(t, channel("third", "gone", "b", "http:auto", onePort)+channel("next", "gone", "b",
		fmt.Sprintf("http:%d", freed), onePort))
	if got := w.ports(t, shop, "third")["http"]; got == freed {
		t.Errorf("number %d is given to another channel within its grace", got)
	}
	w.answers(t, w.Outside(), packets.HTTP, second, ofApp("b"))
	w.answersLater(t, address, ofApp("b"))
	if waited := time.Since(before); waited < grace {
		t.Errorf("a channel that asks for %d gets it after %v, within its grace", freed, waited)
	}
}

// answersLater is answers from outside over HTTP. Its failure message says that it waits for the end of a grace.
func (w *world) answersLater(t *testing.T, address string, right func(string) bool) {
	t.Helper()
	cluster.Eventually(t, address+" is answered, once the grace is over", func(ctx context.Context) error {
		pod, err := packets.HTTP(ctx, w.Outside(), address)
		if err == nil && !right(pod) {
			t.Errorf("at %s, pod %q answers", address, pod)
		}
		return err
	})
}
