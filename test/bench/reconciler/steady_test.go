package reconciler

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/bench/figure"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// changes is the number of endpoint changes that are timed.
const changes = 40

// BenchmarkEndpointChange measures the time from a change of a channel's endpoints until the mux's slice has it, with
// 100 and with 1,000 channels, and the requests to the API server. The floor is a bare client that writes once per
// watch event.
func BenchmarkEndpointChange(b *testing.B) {
	for b.Loop() {
		took := map[int]time.Duration{}
		for _, n := range []int{100, 1000} {
			took[n] = endpointChange(b, n)
		}
		figure.Against(os.Stdout, "reconciler/endpoint-change-at-1000-over-100", milliseconds(took[1000]), "ms",
			milliseconds(took[100]), 1.25)
	}
}

func endpointChange(b *testing.B, n int) time.Duration {
	w := start(b, cluster.Audit())
	w.mux(b, "mux")
	w.run(b)
	all := names("app", n)
	w.sources(b, all)
	w.channels(b, "mux", all)
	w.eyes.await(b, "all channels", programmed(all))
	w.settle(b)
	floor := w.bareChanges(b)

	before, used := w.requests(b), w.usage(b)
	var times []time.Duration
	for i := range changes {
		times = append(times,
			w.change(b, all[i*n/changes], i, func(e *eyes, address string) bool { return e.carries(space, address) }))
	}
	time.Sleep(time.Second)
	asked, cpu := less(w.requests(b), before), w.usage(b).cpu-used.cpu
	name := fmt.Sprintf("reconciler/endpoint-change-at-%d", n)
	figure.Against(os.Stdout, name, milliseconds(median(times)), "ms", milliseconds(floor), 2)
	figure.AtMost(os.Stdout, name+"-requests", float64(sum(asked))/changes, "requests", 1)
	figure.AtMost(os.Stdout, name+"-cpu", milliseconds(cpu)/changes, "ms", 10)
	b.Logf("requests of %d changes: %v", changes, asked)
	return median(times)
}

// change adds an endpoint to a channel's slice, and waits until the carried slice has it.
func (w *bench) change(b *testing.B, name string, i int, carried func(*eyes, string) bool) time.Duration {
	slice, err := w.client.DiscoveryV1().EndpointSlices("app").Get(b.Context(), name+"-1", metav1.GetOptions{})
	must(b, err)
	added := endpoint(1000 + i)
	slice.Endpoints = append(slice.Endpoints, added)
	_, err = w.client.DiscoveryV1().EndpointSlices("app").Update(b.Context(), slice, metav1.UpdateOptions{})
	must(b, err)
	begin := time.Now()
	return w.eyes.await(b, "the endpoint on the mux",
		func(e *eyes) bool { return carried(e, added.Addresses[0]) }).Sub(begin)
}

func (e *eyes) carries(namespace, address string) bool {
	for _, slice := range e.slices {
		if slice.Namespace == namespace && slices.ContainsFunc(slice.Endpoints, func(p discoveryv1.Endpoint) bool {
			return p.Addresses[0] == address
		}) {
			return true
		}
	}
	return false
}

// bareChanges measures the floor: a client that only writes another slice at each watch event.
func (w *bench) bareChanges(b *testing.B) time.Duration {
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	target := source("floor-copy")
	target.Namespace = "default"
	written, err := w.client.DiscoveryV1().EndpointSlices("default").Create(ctx, target, metav1.CreateOptions{})
	must(b, err)
	w.sources(b, []string{"floor"})
	watch, err := w.client.DiscoveryV1().EndpointSlices("app").Watch(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=floor"})
	must(b, err)
	go func() {
		for event := range watch.ResultChan() {
			if slice, ok := event.Object.(*discoveryv1.EndpointSlice); ok {
				next := written.DeepCopy()
				next.Endpoints = slice.Endpoints
				if now, err := w.client.DiscoveryV1().EndpointSlices("default").
					Update(ctx, next, metav1.UpdateOptions{}); err == nil {
					written = now
				}
			}
		}
	}()
	var times []time.Duration
	for i := range changes {
		times = append(times,
			w.change(b, "floor", 500+i, func(e *eyes, address string) bool { return e.carries("default", address) }))
	}
	return median(times)
}

func median(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

// settle waits until the reconciler has sent no requests for a while.
func (w *bench) settle(b *testing.B) {
	b.Helper()
	last, quiet := -1, 0
	for range 120 {
		if now := sum(w.requests(b)); now == last {
			quiet++
		} else {
			last, quiet = now, 0
		}
		if quiet == 4 {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	b.Fatalf("the reconciler isn't quiet after a minute: %v", w.requests(b))
}

// BenchmarkIdle watches 1,000 unchanged channels for a minute, and then a restart.
func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		w := start(b, cluster.Audit())
		w.mux(b, "mux")
		w.run(b)
		all := names("app", 1000)
		w.sources(b, all)
		w.channels(b, "mux", all)
		w.eyes.await(b, "all channels", programmed(all))
		w.settle(b)

		before, used := w.requests(b), w.usage(b)
		time.Sleep(time.Minute)
		asked, cpu := less(w.requests(b), before), w.usage(b).cpu-used.cpu
		figure.AtMost(os.Stdout, "reconciler/idle-requests", float64(sum(asked)), "requests", 0.5)
		figure.AtMost(os.Stdout, "reconciler/idle-cpu", 100*cpu.Seconds()/60, "%", 1)
		b.Logf("idle: %v", asked)

		w.weigh(b, all)
		w.restart(b)
	}
}

// restart measures the time until a successor is quiet. The successor must write nothing.
func (w *bench) restart(b *testing.B) {
	must(b, w.process.Stop(b.Context()))
	before, ports := w.requests(b), w.ports(b)
	begin := time.Now()
	w.run(b)
	var lastAsked time.Time
	last := -1
	for time.Since(begin) < 15*time.Second {
		if now := sum(w.requests(b)); now != last {
			last, lastAsked = now, time.Now()
		}
		time.Sleep(250 * time.Millisecond)
	}
	asked := less(w.requests(b), before)
	writes := 0
	for kind, n := range asked {
		verb, resource, _ := strings.Cut(kind, " ")
		// becoming the leader emits an Event
		if !slices.Contains([]string{"get", "list", "watch"}, verb) && resource != "events" {
			writes += n
		}
	}
	figure.AtMost(os.Stdout, "reconciler/restart-quiet", milliseconds(lastAsked.Sub(begin)), "ms", 5000)
	figure.AtMost(os.Stdout, "reconciler/restart-writes", float64(writes), "writes", 0.5)
	if now := w.ports(b); !slices.Equal(ports, now) {
		b.Errorf("a restart changed ports: %d before, %d after", len(ports), len(now))
	}
	b.Logf("restart: %v", asked)
}

func (w *bench) ports(b *testing.B) []string {
	svc, err := w.client.CoreV1().Services(space).Get(b.Context(), "mux", metav1.GetOptions{})
	must(b, err)
	var ports []string
	for _, port := range svc.Spec.Ports {
		ports = append(ports, fmt.Sprint(port.Name, port.Port, port.Protocol))
	}
	return ports
}

// weigh compares the sizes of the mux's slices and the channels' own slices, and prints the memory per channel.
func (w *bench) weigh(b *testing.B, all []string) {
	w.eyes.mu.Lock()
	var own, ours float64
	for _, slice := range w.eyes.slices {
		slice = slice.DeepCopy()
		slice.ManagedFields = nil
		switch slice.Namespace {
		case "app":
			own += size(slice)
		case space:
			ours += size(slice)
		}
	}
	w.eyes.mu.Unlock()
	figure.Against(os.Stdout, "reconciler/weight-of-slices", ours/1024, "KiB", own/1024, 2)
	resident := w.usage(b).resident
	figure.AtMost(os.Stdout, "reconciler/memory-at-1000", resident, "MiB", 150)
	b.Logf("%.0f KiB of resident memory a channel, all of the process's counted", resident*1024/float64(len(all)))
}
