package plan

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/bench/figure"
	"nowake.ai/svc-lb-mux/validation"
)

// BenchmarkWorstPatterns decides about channels with 64 DNS names each, none of which the mux's patterns allow. A mux
// may have 256 patterns. A mux from before that limit may have 3,706: more don't fit into an annotation.
func BenchmarkWorstPatterns(b *testing.B) {
	for _, c := range []struct {
		name                           string
		patterns, channels, namespaces int
	}{
		{"plan/256-patterns-64000-names", validation.MaxEntries, 1000, 1},
		{"plan/256-patterns-64000-names-16-namespaces", validation.MaxEntries, 1000, 16},
		{"plan/3706-patterns-1280-names", 3706, 20, 1},
		{"plan/3706-patterns-64000-names-16-namespaces", 3706, 1000, 16},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := worldOfPatterns(b, c.patterns, c.channels, c.namespaces)
			fastest := time.Hour
			for b.Loop() {
				started := time.Now()
				p := plan.Mux(w, plan.Memory{})
				fastest = min(fastest, time.Since(started))
				if p.Freeze != nil || !p.Verdicts[0].Accepted || len(p.Verdicts) != c.channels {
					b.Fatal("the plan is wrong")
				}
			}
			figure.AtMost(os.Stdout, c.name, float64(fastest.Microseconds())/1e3, "ms", 1000)
		})
	}
}

// worldOfPatterns makes patterns and names that share long parts, so that each comparison is slow.
func worldOfPatterns(b *testing.B, patterns, channels, namespaces int) plan.World {
	b.Helper()
	w := worldOf(b, 0, "20000-40000", "65535")
	var list strings.Builder
	for i := range patterns {
		fmt.Fprintf(&list, "*%sb%d*.example.com,", strings.Repeat("a", 30), i)
	}
	lang := language(b)
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux", Annotations: map[string]string{
		validation.DefaultPrefix + "/multiplexer":       "true",
		validation.DefaultPrefix + "/port-range":        "20000-40000",
		validation.DefaultPrefix + "/allowed-hostnames": list.String(),
	}}}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: 101, Protocol: corev1.ProtocolTCP}}
	w.Mux = plan.ReadMux(lang, svc, false)
	for i := range channels {
		c := channel(b, i)
		c.Key = types.NamespacedName{Namespace: fmt.Sprintf("team-%d", i%namespaces), Name: fmt.Sprintf("web-%05d", i)}
		for n := range validation.MaxHostnames {
			c.Hostnames = append(c.Hostnames, fmt.Sprintf("%s-%d-%d.example.com", strings.Repeat("a", 50), i, n))
		}
		w.Channels = append(w.Channels, c)
	}
	return w
}
