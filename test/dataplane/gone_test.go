package dataplane

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

// testReadiness turns one of two pods unready, and back, and says how long the wire was behind.
func testReadiness(t *testing.T, w *world) {
	w.mux(t, "ready", annotation("port-range", "20000-20099"))
	w.Apply(t, app("pair", 2)+channel("pair", "ready", "pair", "http:auto", onePort))
	w.rolledOut(t, "pair")
	address := w.public(t, "pair", "http")
	pods, err := w.Client.CoreV1().Pods(shop).List(t.Context(), metav1.ListOptions{LabelSelector: "app=pair"})
	if err != nil || len(pods.Items) != 2 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	first := &pods.Items[0]
	w.answers(t, w.Outside(), packets.HTTP, address, ofApp("pair"))
	w.flips(t, first, address, "/unready", false)
	w.flips(t, first, address, "/ready", true)
}

// flips tells a pod to change its readiness, and waits until what answers on the wire is as its own slice says.
func (w *world) flips(t *testing.T, pod *corev1.Pod, address, how string, want bool) {
	t.Helper()
	response, err := w.Inside().HTTP().Post("http://"+net.JoinHostPort(pod.Status.PodIP, "8080")+how, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	var known time.Time
	cluster.Eventually(t, fmt.Sprintf("Kubernetes knows that the pod's readiness is %t", want), func(ctx context.Context) error {
		slices, err := w.Client.DiscoveryV1().EndpointSlices(shop).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=pair"})
		if err == nil && !shows(slices.Items, pod.Name, want) {
			err = fmt.Errorf("not yet")
		}
		known = time.Now()
		return err
	})
	// A pod that isn't ready any more must be asked no more; one that is again, be asked some time.
	cluster.Eventually(t, "the wire follows", func(ctx context.Context) error {
		seen := false
		for range 8 {
			name, err := packets.HTTP(ctx, w.Outside(), address)
			if err != nil {
				return err
			}
			seen = seen || name == pod.Name
		}
		if seen != want {
			return fmt.Errorf("of eight questions, it is asked: %t", seen)
		}
		return nil
	})
	t.Logf("ready=%t: on the wire %d ms after the channel's own slice said so", want, time.Since(known).Milliseconds())
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

// testDeleted: a channel that is gone answers no more; its number is nobody's for the grace, and then the next one's.
func testDeleted(t *testing.T, w *world) {
	const grace = 30 * time.Second // long enough that the next channels meet it, however busy the machine is
	w.mux(t, "gone", annotation("port-range", "20000-20099"), annotation("release-grace", grace.String()))
	w.Apply(t, app("a", 1)+app("b", 1))
	w.rolledOut(t, "a", "b")
	w.Apply(t, channel("first", "gone", "a", "http:auto", onePort)+channel("second", "gone", "b", "http:auto", onePort))
	address, freed := w.public(t, "first", "http"), w.ports(t, shop, "first")["http"]
	second := w.public(t, "second", "http")
	w.answers(t, w.Outside(), packets.HTTP, address, ofApp("a"))
	w.answers(t, w.Outside(), packets.HTTP, second, ofApp("b"))

	w.Kubectl(t, "delete", "service", "first", "--namespace="+shop)
	begin := time.Now()
	cluster.Eventually(t, "it answers no more", func(ctx context.Context) error {
		if pod, err := packets.HTTP(ctx, w.Outside(), address); err == nil {
			return fmt.Errorf("%q answers", pod)
		}
		return nil
	})
	t.Logf("a deleted channel's port is silent %d ms after kubectl has returned", time.Since(begin).Milliseconds())
	w.Apply(t, channel("third", "gone", "b", "http:auto", onePort))
	if got := w.ports(t, shop, "third")["http"]; got == freed {
		t.Errorf("%d is given away within its grace", got)
	}
	if pod, err := packets.HTTP(t.Context(), w.Outside(), address); err == nil {
		t.Errorf("within its grace, %s is answered by %q", address, pod)
	}
	w.answers(t, w.Outside(), packets.HTTP, second, ofApp("b"))

	w.Apply(t, channel("next", "gone", "b", fmt.Sprintf("http:%d", freed), onePort))
	w.answersLater(t, address, ofApp("b"))
}

// answersLater is answers, for what waits for a grace to be over.
func (w *world) answersLater(t *testing.T, address string, right func(string) bool) {
	t.Helper()
	cluster.Eventually(t, address+" is answered, once the grace is over", func(ctx context.Context) error {
		pod, err := packets.HTTP(ctx, w.Outside(), address)
		if err == nil && !right(pod) {
			t.Errorf("%s is answered by %q", address, pod)
		}
		return err
	})
}
