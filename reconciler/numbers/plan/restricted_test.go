package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// restrictedTo returns a channel with so many source ranges. A channel that was published has an annotation that says
// so.
func restrictedTo(t *testing.T, namespace, name string, ranges int, port int32, published bool) plan.ObservedChannel {
	t.Helper()
	class := "svc-mux.nowake.ai/" + muxKey.Name + "." + muxKey.Namespace
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if published {
		svc.Annotations = map[string]string{"svc-mux.nowake.ai/ports": fmt.Sprintf("http:%d->%d", port, port)}
	}
	svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, &class
	svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}}
	for i := range ranges {
		svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges,
			fmt.Sprintf("10.%d.%d.0/24", port%256, i))
	}
	return plan.ReadChannel(english(t), svc)
}

// The channels of a namespace have a limit of source ranges on a mux on gateways. A new channel takes no room from one
// that has its port, and no namespace takes room from another one.
func TestANamespaceHasALimitOfSourceRanges(t *testing.T) {
	world := func(published bool, counts ...int) plan.World {
		w := plan.World{Keys: english(t).Keys(), Key: muxKey, Now: time.Unix(1e9, 0), Mux: muxThatSays(t, nil),
			Ledger: plan.Reading{Condition: plan.Missing}}
		w.Mux.Pool = "rack"
		for i, count := range counts {
			w.Channels = append(w.Channels, restrictedTo(t, "greedy", fmt.Sprintf("c%02d", i), count, int32(1000+i), published))
		}
		w.Channels = append(w.Channels, restrictedTo(t, "other", "web", 200, 80, false))
		return w
	}
	sixteen := func(more ...int) []int {
		counts := make([]int, 16)
		for i := range counts {
			counts[i] = 256
		}
		return append(counts, more...)
	}
	refused := func(w plan.World) string {
		var names []string
		for _, v := range plan.Mux(w, plan.Memory{}).Verdicts {
			if v.Reason == plan.SourceRangesExceeded {
				names = append(names, v.Channel.Name)
			} else if !v.Accepted {
				t.Errorf("%s: %s: %s", v.Channel, v.Reason, v.Message)
			}
		}
		return strings.Join(names, " ")
	}
	newcomer := restrictedTo(t, "greedy", "a-new-one", 1, 2000, false)
	with := func(w plan.World, c plan.ObservedChannel) plan.World {
		w.Channels = append([]plan.ObservedChannel{c}, w.Channels...)
		return w
	}
	for name, c := range map[string]struct {
		world plan.World
		want  string
	}{
		"as many as fit":                           {world(true, sixteen()...), ""},
		"a new channel beyond":                     {with(world(true, sixteen()...), newcomer), "a-new-one"},
		"the longest list of channels with ports":  {world(true, append(sixteen()[:15], 200, 250, 6)...), "c14"},
		"one range too much, and a short list":     {world(true, sixteen(1)...), "c15"},
		"channels of a namespace without any port": {world(false, sixteen(1)...), "c15"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refused(c.world); got != c.want {
				t.Errorf("refused %q, want %q", got, c.want)
			}
		})
	}
	verdict := plan.Mux(with(world(true, sixteen()...), newcomer), plan.Memory{}).Verdicts[0]
	const want = "1 networks are too many: the channels of namespace greedy may have 4096 together on the mux"
	if !strings.Contains(verdict.Message, want) {
		t.Errorf("%q doesn't say %q", verdict.Message, want)
	}
}

// A channel that comes to have too many source ranges is closed, and keeps its number: it is never open to everybody.
func TestAChannelWithTooManySourceRangesIsClosedAndKeepsItsNumber(t *testing.T) {
	w := plan.World{Keys: english(t).Keys(), Key: muxKey, Now: time.Unix(1e9, 0), Mux: muxThatSays(t, nil),
		Ledger: plan.Reading{Condition: plan.Missing}}
	w.Mux.Pool = "rack"
	for i := range 17 {
		w.Channels = append(w.Channels, restrictedTo(t, "greedy", fmt.Sprintf("c%02d", i), 100, int32(1000+i), false))
	}
	w.Mux.Ports = plan.Mux(w, plan.Memory{}).Publish.Ports // the ledger is rebuilt from them
	for i := range w.Channels {
		w.Channels[i] = restrictedTo(t, "greedy", fmt.Sprintf("c%02d", i), 256, int32(1000+i), true)
	}
	p := plan.Mux(w, plan.Memory{})
	if v := p.Verdicts[16]; v.Reason != plan.SourceRangesExceeded || v.Accepted || v.Programmed ||
		v.Ports[0].Public != 1016 {
		t.Errorf("the last channel: %+v", v)
	}
	var numbers []int32
	for _, port := range p.Publish.Ports {
		numbers = append(numbers, port.Port)
	}
	slices.Sort(numbers)
	if len(numbers) != 16 || numbers[15] != 1015 {
		t.Errorf("the mux gets %v", numbers)
	}
}
