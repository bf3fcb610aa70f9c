package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestTypos(t *testing.T) {
	lang := language(t)
	for name, c := range map[string]struct {
		key, class string
		want       []string
	}{
		"our own prefix":              {"svc-mux.nowake.ai/external-ports", "svc-mux.nowake.ai/mux", nil},
		"one too few in a key":        {"svc-mux.nowake.i/placeholder", "", []string{"svc-mux.nowake.i/placeholder"}},
		"two swapped in a class":      {"", "svc-mux.nowaek.ai/mux", []string{"svc-mux.nowaek.ai/mux"}},
		"capitals in a key":           {"Svc-Mux.nowake.ai/multiplexer", "", []string{"Svc-Mux.nowake.ai/multiplexer"}},
		"three slips and more":        {"s.nowake.ai/disabled", "s.nowake.ai/x", nil},
		"a name of ours elsewhere":    {"example.com/disabled", "example.com/mux", nil},
		"a name that is none of ours": {"svc-mux.nowake.a/flavour", "", nil},
		"a prefix that ours begins":   {"svc-mux.nowake.ai.evil/disabled", "svc-mux.nowake.ai.evil/x", nil},
		"a key without a prefix":      {"disabled", "mux", nil},
	} {
		t.Run(name, func(t *testing.T) {
			svc := &corev1.Service{}
			if c.key != "" {
				svc.Annotations = map[string]string{c.key: "true"}
			}
			if c.class != "" {
				svc.Spec.LoadBalancerClass = &c.class
			}
			var got []string
			for _, p := range lang.Typos(svc) {
				got = append(got, p.Value)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
