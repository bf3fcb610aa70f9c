package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// services generates Services of every kind, most of them near the limits of the grammar.
func services(keys Keys) *rapid.Generator[*corev1.Service] {
	value := rapid.SampledFrom([]string{
		"true", "false", "", "http:80", "http:8080,grpc:auto", "grcp:1", "http:1,http:2", "http:9090", "20000-20099", "5-1",
		"1", "0", "080", "Same", "same", "*", "team-*", "*.{namespace}.example.com", "a.b,A.b", "10m", "keep", "TCP", ",,",
		"10.0.0.0/8", "http:80->8080", "192.0.2.1,2001:db8::1", "192.0.2.1,192.0.2.2",
	})
	key := rapid.SampledFrom(append(keyList(keys), keys.Ports+"x", "example.com/x", FormerCloudflareProxied,
		FormerHostname,
		corev1.AnnotationLoadBalancerSourceRangesKey, "cloud.google.com/l4-rbs", "service.beta.kubernetes.io/x"))
	class := rapid.SampledFrom([]string{
		"", "", "svc-mux.nowake.ai/mux", "svc-mux.nowake.ai/mux.ns", "svc-mux.nowake.ai", "svc-mux.nowake.ai/A", "other/x",
		"gateway.svc-mux.nowake.ai/rack", "gateway.svc-mux.nowake.ai/A",
	})
	port := rapid.Custom(func(t *rapid.T) corev1.ServicePort {
		return corev1.ServicePort{
			Name:     rapid.SampledFrom([]string{"", "http", "grpc", "dns"}).Draw(t, "name"),
			Port:     rapid.SampledFrom([]int32{-1, 0, 1, 80, 9090, 65535, 65536}).Draw(t, "port"),
			Protocol: rapid.SampledFrom([]corev1.Protocol{"", "TCP", "UDP", "SCTP", "tcp"}).Draw(t, "protocol"),
		}
	})
	return rapid.Custom(func(t *rapid.T) *corev1.Service {
		svc := &corev1.Service{}
		svc.Annotations = rapid.MapOfN(key, value, 0, 6).Draw(t, "annotations")
		if c := class.Draw(t, "class"); c != "" {
			svc.Spec.LoadBalancerClass = &c
		}
		svc.Spec.Type = rapid.SampledFrom([]corev1.ServiceType{"LoadBalancer", "ClusterIP"}).Draw(t, "type")
		svc.Spec.Ports = rapid.SliceOfN(port, 0, 4).Draw(t, "ports")
		svc.Spec.LoadBalancerSourceRanges = rapid.SliceOfN(
			rapid.SampledFrom([]string{"10.0.0.0/8", "2001:db8::/32", "010.0.0.0/8", "x"}), 0, 3).Draw(t, "ranges")
		if rapid.Bool().Draw(t, "selector") {
			svc.Spec.Selector = map[string]string{"app": "web"}
		}
		return svc
	})
}

func TestParsingIsPureAndSorted(t *testing.T) {
	lang := language(t)
	rapid.Check(t, func(t *rapid.T) {
		svc := services(lang.Keys()).Draw(t, "service")
		before := svc.DeepCopy()
		first := lang.Check(svc)
		// Another map with the same entries may be iterated in another order.
		svc.Annotations = maps.Clone(svc.Annotations)
		if diff := cmp.Diff(first, lang.Check(svc)); diff != "" {
			t.Fatalf("two reviews of one Service differ:\n%s", diff)
		}
		if diff := cmp.Diff(before, svc); diff != "" {
			t.Fatalf("the Service was changed:\n%s", diff)
		}
		for _, list := range [][]Problem{first.Problems, first.Warnings} {
			if !slices.IsSortedFunc(list, func(a, b Problem) int { return compareFields(a.Field, b.Field) }) {
				t.Fatalf("not sorted: %v", list)
			}
			for _, p := range list {
				if p.Reason == "" || p.Field == "" || p.Message == "" {
					t.Fatalf("incomplete: %+v", p)
				}
			}
		}
	})
}

func TestStrangersAreLeftAlone(t *testing.T) {
	lang := language(t)
	rapid.Check(t, func(t *rapid.T) {
		svc := services(lang.Keys()).Draw(t, "service")
		svc.Spec.LoadBalancerClass = nil
		delete(svc.Annotations, lang.Keys().Multiplexer)
		old := services(lang.Keys()).Draw(t, "old")
		if verdict := lang.Review(old, svc); verdict.Kind != Stranger || len(verdict.Denied)+len(verdict.Warnings) > 0 {
			t.Fatalf("got %+v", verdict)
		}
	})
}

func TestRatchetNeverDeniesOldProblems(t *testing.T) {
	lang := language(t)
	rapid.Check(t, func(t *rapid.T) {
		svc := services(lang.Keys()).Draw(t, "service")
		labelled := svc.DeepCopy()
		labelled.Labels = map[string]string{"a": "b"}
		// A port inserted at the front shifts every index.
		labelled.Spec.Ports = slices.Insert(labelled.Spec.Ports, 0, corev1.ServicePort{Name: "front", Port: 4242})
		if len(svc.Spec.Ports) == 0 {
			labelled.Spec.Ports = nil
		}
		if verdict := lang.Review(svc, labelled); len(verdict.Denied) > 0 {
			t.Fatalf("denied: %v", verdict.Denied)
		}
	})
}

func TestRatchetKeepsEveryProblem(t *testing.T) {
	lang := language(t)
	rapid.Check(t, func(t *rapid.T) {
		old := services(lang.Keys()).Draw(t, "old")
		svc := services(lang.Keys()).Draw(t, "new")
		found, verdict := lang.Check(svc), lang.Review(old, svc)
		all := slices.Concat(verdict.Denied, verdict.Tolerated)
		sortByField(all)
		if len(all) != len(found.Problems) {
			t.Fatalf("%d problems, but %d denied and %d tolerated", len(found.Problems), len(verdict.Denied),
				len(verdict.Tolerated))
		}
		had := map[string]bool{}
		if role := lang.Classify(old) & lang.Classify(svc); role != Stranger {
			for _, p := range lang.Check(old).Problems {
				had[fmt.Sprintf("%s/%s/%q", p.Reason, p.Port, p.Value)] = true
			}
		}
		for _, p := range verdict.Tolerated {
			if !had[fmt.Sprintf("%s/%s/%q", p.Reason, p.Port, p.Value)] {
				t.Fatalf("tolerated, but the old Service didn't have it: %+v", p)
			}
		}
	})
}

func TestNewProblemsOfAChange(t *testing.T) {
	p := []Problem{{Reason: InvalidPort, Field: "spec.ports[0].name", Value: "80/TCP"}}
	moved := []Problem{{Reason: InvalidPort, Field: "spec.ports[7].name", Value: "80/TCP", Message: "in other words"}}
	if news := News(nil, p); len(news) != 1 {
		t.Errorf("every problem of a new Service is new, got %v", news)
	}
	if news := News(p, moved); len(news) != 0 {
		t.Errorf("another index or message isn't a new problem, got %v", news)
	}
	if news := News(p, nil); len(news) != 0 {
		t.Errorf("a corrected Service has no new problem, got %v", news)
	}
}

func TestNamespaceGlobsAgreeWithAReference(t *testing.T) {
	letters := rapid.StringOfN(rapid.RuneFrom([]rune("ab*")), 0, 8, -1)
	texts := rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		pattern, text := letters.Draw(t, "pattern"), texts.Draw(t, "text")
		if got, want := glob(pattern, text), plainGlob(pattern, text); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func plainGlob(pattern, text string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !strings.HasPrefix(text, head) {
		return false
	}
	text = text[len(head):]
	if !star {
		return text == ""
	}
	for i := range len(text) + 1 {
		if plainGlob(rest, text[i:]) {
			return true
		}
	}
	return false
}

func TestSlipsAgreeWithAReference(t *testing.T) {
	words := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		if got, want := editDistance(a, b), min(plainSlips(a, b), 3); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
	})
}

// TestSlipsInLongNames puts the compared parts into names of the greatest length. Equal text before and after them must
// not count.
func TestSlipsInLongNames(t *testing.T) {
	words := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		rest := maxLabel - max(len(a), len(b))
		head := rapid.IntRange(0, rest).Draw(t, "head")
		tail := rapid.IntRange(max(0, rest-head-2), rest-head).Draw(t, "tail")
		inName := func(s string) string {
			return strings.Repeat("ab", maxLabel)[:head] + s + strings.Repeat("cab", maxLabel)[:tail]
		}
		if got, want := editDistance(inName(a), inName(b)), min(plainSlips(a, b), tooFar); got != want {
			t.Fatalf("%s and %s: got %d, want %d", inName(a), inName(b), got, want)
		}
	})
}

func plainSlips(a, b string) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return plainSlips(a[1:], b[1:])
	}
	least := 1 + min(plainSlips(a[1:], b), plainSlips(a, b[1:]), plainSlips(a[1:], b[1:]))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, 1+plainSlips(a[2:], b[2:]))
	}
	return least
}
