package validation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// typosOf returns the warnings about a Service from a file, as REASON FIELD.
func typosOf(t *testing.T, svc *corev1.Service) []string {
	t.Helper()
	var got []string
	for _, p := range language(t).Typos(svc) {
		got = append(got, string(p.Reason)+" "+p.Field)
	}
	return got
}

func TestTyposInPrefixes(t *testing.T) {
	typo := func(key string) []string { return []string{"LikelyTypo metadata.annotations[" + key + "]"} }
	for name, c := range map[string]struct {
		key, class string
		want       []string
	}{
		"our own prefix":                       {"svc-mux.nowake.ai/external-ports", "svc-mux.nowake.ai/mux", nil},
		"a missing letter in a key":            {"svc-mux.nowake.i/placeholder", "", typo("svc-mux.nowake.i/placeholder")},
		"swapped letters in a class":           {"", "svc-mux.nowaek.ai/mux", []string{"LikelyTypo spec.loadBalancerClass"}},
		"capitals in a key":                    {"Svc-Mux.nowake.ai/multiplexer", "", typo("Svc-Mux.nowake.ai/multiplexer")},
		"slips in prefix and name":             {"svc-mux.nowake.io/multiplexor", "", typo("svc-mux.nowake.io/multiplexor")},
		"capitals in prefix and name":          {"SVC-MUX.nowake.ai/Port-Range", "", typo("SVC-MUX.nowake.ai/Port-Range")},
		"three slips or more":                  {"s.nowake.ai/disabled", "s.nowake.ai/x", nil},
		"our name, another prefix":             {"example.com/disabled", "example.com/mux", nil},
		"our name with a slip, another prefix": {"example.com/multiplexor", "", nil},
		"a name that isn't ours":               {"svc-mux.nowake.a/flavour", "", nil},
		"a name that we write":                 {"svc-mux.nowake.a/ports", "", nil},
		"a prefix that begins with ours":       {"svc-mux.nowake.ai.evil/disabled", "svc-mux.nowake.ai.evil/x", nil},
		"a key without a prefix":               {"disabled", "mux", nil},
	} {
		t.Run(name, func(t *testing.T) {
			svc := &corev1.Service{}
			if c.key != "" {
				svc.Annotations = map[string]string{c.key: "true"}
			}
			if c.class != "" {
				svc.Spec.LoadBalancerClass = &c.class
			}
			if diff := cmp.Diff(c.want, typosOf(t, svc)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTyposOfServicesThatAreNotOurs uses Services that no review covers, because they lack our annotation or class.
func TestTyposOfServicesThatAreNotOurs(t *testing.T) {
	for name, c := range map[string]struct {
		annotations, labels map[string]string
		class               string
		want                []string
	}{
		"a misspelt multiplexer": {annotations: map[string]string{"multiplexor": "true"},
			want: []string{"UnknownAnnotation multiplexor"}},
		"a name that isn't similar": {annotations: map[string]string{"flavour": "x"},
			want: []string{"UnknownAnnotation flavour"}},
		"a mux's key without a mux": {annotations: map[string]string{"port-range": "1-9"},
			want: []string{"MisplacedAnnotation port-range"}},
		"a channel's key without a channel": {annotations: map[string]string{"external-ports": "a:1"},
			want: []string{"MisplacedAnnotation external-ports"}},
		"either's": {annotations: map[string]string{"disabled": "true"},
			want: []string{"MisplacedAnnotation disabled"}},
		"only the slip is reported": {
			annotations: map[string]string{"multiplexor": "true", "port-range": "1-9", "disabled": "true",
				"external-ports": "a:1"},
			want: []string{"MisplacedAnnotation external-ports", "UnknownAnnotation multiplexor"},
		},
		"a slip in the prefix, too": {
			annotations: map[string]string{"svc-mux.nowake.io/multiplexer": "true", "port-range": "1-9"},
			want:        []string{"LikelyTypo svc-mux.nowake.io/multiplexer"},
		},
		"a slip in the class, too": {
			annotations: map[string]string{"external-ports": "a:1", "disabled": "true"}, class: "svc-mux.nowaek.ai/mux",
			want: []string{"LikelyTypo spec.loadBalancerClass"},
		},
		"a mux with multiplexer false": {annotations: map[string]string{"multiplexer": "false", "port-range": "1-9",
			"disabled": "true"}},
		"a channel's key on such a mux": {
			annotations: map[string]string{"multiplexer": "false", "external-ports": "a:1"},
			want:        []string{"MisplacedAnnotation external-ports"},
		},
		"a label": {
			labels: map[string]string{"multiplexer": "true"}, annotations: map[string]string{"port-range": "1-9"},
			want: []string{"MisplacedAnnotation metadata.labels[svc-mux.nowake.ai/multiplexer]"},
		},
		"a label with two slips": {
			labels: map[string]string{"svc-mux.nowake.io/port_range": "x"},
			want:   []string{"MisplacedAnnotation metadata.labels[svc-mux.nowake.io/port_range]"},
		},
		"a label of a channel": {
			labels: map[string]string{"external-ports": "x"}, class: "svc-mux.nowake.ai/mux",
			want: []string{"MisplacedAnnotation metadata.labels[svc-mux.nowake.ai/external-ports]"},
		},
		"a label beside its annotation": {labels: map[string]string{"multiplexer": "true"},
			annotations: map[string]string{"multiplexer": "true"}},
		"a label that isn't similar": {labels: map[string]string{"flavour": "x", "mux": "x"}},
		"a class of others": {class: "example.com/lb", annotations: map[string]string{"external-ports": "a:1"},
			want: []string{"MisplacedAnnotation external-ports"}},
		"a channel is reviewed": {class: "svc-mux.nowake.ai/mux",
			annotations: map[string]string{"port-range": "x", "y": "z"}},
		"a mux is reviewed": {annotations: map[string]string{"multiplexer": "True", "external-ports": "x",
			"y": "z"}},
	} {
		t.Run(name, func(t *testing.T) {
			svc := &corev1.Service{}
			svc.Annotations, svc.Labels = prefixed(c.annotations), prefixed(c.labels)
			if c.class != "" {
				svc.Spec.LoadBalancerClass = &c.class
			}
			got := typosOf(t, svc)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], "metadata.annotations[svc-mux.nowake.ai/", "")
				got[i] = strings.ReplaceAll(got[i], "metadata.annotations[", "")
				if !strings.Contains(got[i], "[") {
					got[i] = strings.TrimSuffix(got[i], "]")
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func prefixed(keys map[string]string) map[string]string {
	all := map[string]string{}
	for key, value := range keys {
		if !strings.Contains(key, "/") {
			key = DefaultPrefix + "/" + key
		}
		all[key] = value
	}
	return all
}

// TestOurOwnKeysAreNotTypos uses a Service with keys that we write, as annotations and as labels: a former mux or
// channel may have them.
func TestOurOwnKeysAreNotTypos(t *testing.T) {
	svc := &corev1.Service{}
	svc.Annotations = map[string]string{}
	keys := language(t).Keys()
	for _, key := range []string{
		keys.Ports, keys.Generation, keys.Ledger, keys.Channels, keys.Topology, keys.Summary,
		keys.AggregatedExternalDNS, keys.Managed,
		keys.Mux,
	} {
		svc.Annotations[key] = "x"
	}
	svc.Labels = svc.Annotations
	if got := typosOf(t, svc); got != nil {
		t.Errorf("warnings: %q", got)
	}
}

func TestLanguageWithoutAPrefixHasNoWarnings(t *testing.T) {
	svc := &corev1.Service{}
	svc.Annotations = map[string]string{"/x": "", "x/disabled": ""}
	if got := (Language{}).Typos(svc); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestTyposAreBounded(t *testing.T) {
	svc := &corev1.Service{}
	svc.Annotations = unknownAnnotations(500)
	if got := len(typosOf(t, svc)); got != maxProblems {
		t.Errorf("%d warnings, want %d", got, maxProblems)
	}
}
