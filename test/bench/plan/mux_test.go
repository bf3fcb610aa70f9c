package plan

import (
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/test/bench/figure"
	"nowake.ai/svc-lb-mux/validation"
)

// BenchmarkSteady decides about an unchanged mux.
func BenchmarkSteady(b *testing.B) {
	w := atRest(b, world(b, 10_000))
	run(b, w, "plan/mux-10000-claims", 20, func(p *plan.Plan) bool { return p.Empty() })
}

// BenchmarkNewcomers decides about a thousand new channels beside nine thousand.
func BenchmarkNewcomers(b *testing.B) {
	w := atRest(b, world(b, 9_000))
	for i := range 1_000 {
		w.Channels = append(w.Channels, channel(b, 9_000+i))
	}
	run(b, w, "plan/mux-1000-newcomers-to-9000", 100, func(p *plan.Plan) bool { return len(p.Publish.Added) == 1_000 })
}

// BenchmarkGone decides about the deletion of half of the channels.
func BenchmarkGone(b *testing.B) {
	w := atRest(b, world(b, 10_000))
	w.Live = map[types.NamespacedName]plan.Liveness{}
	for _, c := range w.Channels[5_000:] {
		w.Live[c.Key] = plan.Gone
	}
	w.Channels = w.Channels[:5_000]
	run(b, w, "plan/mux-5000-of-10000-gone", 100, func(p *plan.Plan) bool { return len(p.Settle.Ledger.Claims) == 5_000 })
}

// BenchmarkRebuild decides about a mux whose ledger is lost.
func BenchmarkRebuild(b *testing.B) {
	w := atRest(b, world(b, 10_000))
	w.Ledger = plan.Reading{Condition: plan.Missing}
	run(b, w, "plan/mux-10000-claims-rebuilt", 200, func(p *plan.Plan) bool { return len(p.Reserve.Ledger.Claims) == 10_000 })
}

// BenchmarkCrowd decides about five thousand waiting channels. The range has no free number, and the mux has room for
// two ports.
func BenchmarkCrowd(b *testing.B) {
	w := atRest(b, worldOf(b, 10_000, "20000-29999", "10002"))
	for i := range 5_000 {
		w.Channels = append(w.Channels, channel(b, 10_000+i))
	}
	run(b, w, "plan/mux-5000-wait-for-a-number", 100, func(p *plan.Plan) bool { return p.Publish == nil && len(p.Show) == 5_000 })
}

func run(b *testing.B, w plan.World, name string, target float64, right func(*plan.Plan) bool) {
	b.Helper()
	fastest := time.Hour // the fastest run is the least disturbed by the machine's other guests
	b.ReportAllocs()
	for b.Loop() {
		started := time.Now()
		p := plan.Mux(w, plan.Memory{})
		fastest = min(fastest, time.Since(started))
		if !right(p) {
			b.Fatal("the plan is wrong")
		}
	}
	figure.AtMost(os.Stdout, name, float64(fastest.Microseconds())/1e3, "ms", target)
}

func language(b *testing.B) validation.Language {
	b.Helper()
	lang, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		b.Fatal(err)
	}
	return lang
}

func world(b *testing.B, channels int) plan.World {
	b.Helper()
	return worldOf(b, channels, "20000-40000", "65535")
}

func worldOf(b *testing.B, channels int, portRange, maxPorts string) plan.World {
	b.Helper()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux", Annotations: map[string]string{
		validation.DefaultPrefix + "/multiplexer": "true",
		validation.DefaultPrefix + "/port-range":  portRange,
		validation.DefaultPrefix + "/max-ports":   maxPorts,
	}}}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: 101, Protocol: corev1.ProtocolTCP}}
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}}
	lang := language(b)
	w := plan.World{
		Now: time.Unix(1_700_000_000, 0), Keys: lang.Keys(), Key: types.NamespacedName{Namespace: "svc-mux", Name: "mux"},
		Mux: plan.ReadMux(lang, svc, false),
	}
	for i := range channels {
		w.Channels = append(w.Channels, channel(b, i))
	}
	return w
}

func channel(b *testing.B, i int) plan.ObservedChannel {
	b.Helper()
	class := validation.DefaultPrefix + "/mux"
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprintf("team-%d", i%50), Name: fmt.Sprintf("web-%d", i),
		CreationTimestamp: metav1.Unix(1_600_000_000+int64(i*7919%10_007), 0),
		Annotations:       map[string]string{validation.DefaultPrefix + "/external-ports": "http:auto"},
	}}
	svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, &class
	svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}
	c := plan.ReadChannel(language(b), svc)
	c.Backends = plan.Backed
	return c
}

// atRest applies a plan's result to the world, as far as the next decision depends on it.
func atRest(b *testing.B, w plan.World) plan.World {
	b.Helper()
	p := plan.Mux(w, plan.Memory{})
	w.Ledger = plan.Reading{Ledger: p.Reserve.Ledger}
	mux := *w.Mux
	mux.Ports, mux.Generation, mux.LedgerInForce = p.Publish.Ports, p.Reserve.Ledger.Generation, p.Publish.Annotations[w.Keys.Ledger]
	mux.Channels, mux.Topology, mux.Summary = p.Publish.Annotations[w.Keys.Channels], p.Publish.Annotations[w.Keys.Topology],
		p.Publish.Annotations[w.Keys.Summary]
	w.Mux = &mux
	written := map[types.NamespacedName]*plan.ChannelPatch{}
	for i := range p.Show {
		written[p.Show[i].Channel] = &p.Show[i]
	}
	for i := range w.Channels {
		c := &w.Channels[i]
		patch := written[c.Key]
		c.Address, c.Conditions, c.PortsNote = patch.Address, patch.Conditions, patch.PortsNote
		c.Recorded, _ = validation.ParsePorts(patch.PortsNote)
	}
	return w
}
