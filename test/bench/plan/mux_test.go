package plan

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/bench/figure"
	"nowake.ai/svc-lb-mux/validation"
)

// subject returns a world of n channels, and a check of its plan.
type subject func(tb testing.TB, n int) (plan.World, func(*plan.Plan) bool)

// BenchmarkSteady decides about an unchanged mux.
func BenchmarkSteady(b *testing.B) { run(b, steady, "plan/mux-10000-claims", 20) }

func steady(tb testing.TB, n int) (plan.World, func(*plan.Plan) bool) {
	return atRest(tb, world(tb, n)), func(p *plan.Plan) bool { return p.Empty() }
}

// BenchmarkNewcomers decides about a thousand new channels beside nine thousand.
func BenchmarkNewcomers(b *testing.B) { run(b, newcomers, "plan/mux-1000-newcomers-to-9000", 100) }

func newcomers(tb testing.TB, n int) (plan.World, func(*plan.Plan) bool) {
	old := n - n/10
	w := atRest(tb, world(tb, old))
	for i := old; i < n; i++ {
		w.Channels = append(w.Channels, channel(tb, i))
	}
	return w, func(p *plan.Plan) bool { return len(p.Publish.Added) == n/10 }
}

// BenchmarkGone decides about the deletion of half of the channels.
func BenchmarkGone(b *testing.B) { run(b, gone, "plan/mux-5000-of-10000-gone", 100) }

func gone(tb testing.TB, n int) (plan.World, func(*plan.Plan) bool) {
	w := atRest(tb, world(tb, n))
	w.Live = map[types.NamespacedName]plan.Liveness{}
	for _, c := range w.Channels[n/2:] {
		w.Live[c.Key] = plan.Gone
	}
	w.Channels = w.Channels[:n/2]
	return w, func(p *plan.Plan) bool { return len(p.Settle.Ledger.Claims) == n/2 }
}

// BenchmarkRebuild decides about a mux whose ledger is lost.
func BenchmarkRebuild(b *testing.B) { run(b, rebuild, "plan/mux-10000-claims-rebuilt", 200) }

func rebuild(tb testing.TB, n int) (plan.World, func(*plan.Plan) bool) {
	w := atRest(tb, world(tb, n))
	w.Ledger = plan.Reading{Condition: plan.Missing}
	return w, func(p *plan.Plan) bool { return len(p.Reserve.Ledger.Claims) == n }
}

// BenchmarkCrowd decides about five thousand waiting channels. The range has no free number, and the mux has room for
// two ports.
func BenchmarkCrowd(b *testing.B) { run(b, crowd, "plan/mux-5000-wait-for-a-number", 100) }

func crowd(tb testing.TB, n int) (plan.World, func(*plan.Plan) bool) {
	w := atRest(tb, worldOf(tb, n, fmt.Sprintf("20000-%d", 20_000+n-1), strconv.Itoa(n+2)))
	for i := range n / 2 {
		w.Channels = append(w.Channels, channel(tb, n+i))
	}
	return w, func(p *plan.Plan) bool { return p.Publish == nil && len(p.Show) == n/2 }
}

// TestPlansAreRight keeps the benchmarks true: each decides about what its name says.
func TestPlansAreRight(t *testing.T) {
	for name, of := range map[string]subject{
		"steady": steady, "newcomers": newcomers, "gone": gone, "rebuild": rebuild, "crowd": crowd,
	} {
		t.Run(name, func(t *testing.T) {
			if w, right := of(t, 100); !right(plan.Mux(w, plan.Memory{})) {
				t.Error("the plan is wrong")
			}
		})
	}
}

func run(b *testing.B, of subject, name string, target float64) {
	b.Helper()
	w, right := of(b, 10_000)
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

func language(tb testing.TB) validation.Language {
	tb.Helper()
	lang, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		tb.Fatal(err)
	}
	return lang
}

func world(tb testing.TB, channels int) plan.World {
	tb.Helper()
	return worldOf(tb, channels, "20000-40000", "65535")
}

func worldOf(tb testing.TB, channels int, portRange, maxPorts string) plan.World {
	tb.Helper()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux", Annotations: map[string]string{
		validation.DefaultPrefix + "/multiplexer": "true",
		validation.DefaultPrefix + "/port-range":  portRange,
		validation.DefaultPrefix + "/max-ports":   maxPorts,
	}}}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: 101, Protocol: corev1.ProtocolTCP}}
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}}
	lang := language(tb)
	w := plan.World{
		Now: time.Unix(1_700_000_000, 0), Keys: lang.Keys(), Key: types.NamespacedName{Namespace: "svc-mux", Name: "mux"},
		Mux: plan.ReadMux(lang, svc, false),
	}
	for i := range channels {
		w.Channels = append(w.Channels, channel(tb, i))
	}
	return w
}

func channel(tb testing.TB, i int) plan.ObservedChannel {
	tb.Helper()
	class := validation.DefaultPrefix + "/mux"
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprintf("team-%d", i%50), Name: fmt.Sprintf("web-%d", i),
		CreationTimestamp: metav1.Unix(1_600_000_000+int64(i*7919%10_007), 0),
		Annotations:       map[string]string{validation.DefaultPrefix + "/external-ports": "http:auto"},
	}}
	svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, &class
	svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}
	c := plan.ReadChannel(language(tb), svc)
	c.Backends = plan.Backed
	return c
}

// atRest applies a plan's result to the world, as far as the next decision depends on it.
func atRest(tb testing.TB, w plan.World) plan.World {
	tb.Helper()
	p := plan.Mux(w, plan.Memory{})
	w.Ledger = plan.Reading{Ledger: p.Reserve.Ledger}
	mux := *w.Mux
	mux.Ports, mux.Generation = p.Publish.Ports, p.Reserve.Ledger.Generation
	mux.LedgerInForce = p.Publish.Annotations[w.Keys.Ledger]
	mux.Channels, mux.Topology, mux.Summary = p.Publish.Annotations[w.Keys.Channels],
		p.Publish.Annotations[w.Keys.Topology],
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
