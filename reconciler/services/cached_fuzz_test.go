package services

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/test/corpus"
)

// FuzzTrim: a trimmed Service is parsed like the whole one, a second trim changes nothing, and a mux elsewhere is no
// mux in the cache.
func FuzzTrim(f *testing.F) {
	golden.Seeds(f)
	cases, err := corpus.Load()
	if err != nil {
		f.Fatal(err)
	}
	language := languageOf(f)
	keys := language.Keys()
	const apart = 16 // TestTrimmedServiceIsParsedTheSame uses all cases
	for i := 0; i < len(cases); i += apart {
		svc := cases[i].Service.DeepCopy()
		if i%(4*apart) == 0 {
			addLeftovers(svc, keys)
		}
		text, err := json.Marshal(svc)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, i%(4*apart) == apart)
	}
	f.Add(
		[]byte(
			`{"metadata":{"managedFields":[{"operation":"Apply",
				"fieldsV1":{"f:spec":{"f:ports":{"k:{\"port\":101,\"protocol\":\"TCP\"}":{}}}}}],
		"annotations":{"svc-mux.nowake.ai/multiplexer":"true"}},"spec":{"type":"LoadBalancer"},
		"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.7"}]}}}`), false)
	f.Add([]byte(
		`{"metadata":{"annotations":{"svc-mux.nowake.ai/accepted":"äääääääääääääääääää","svc-mux.nowake.ai/multiplexer":"f"},
		"finalizers":["a","svc-mux.nowake.ai/channel"]},"spec":{"type":"ClusterIP","ports":[{"port":1}]}}`), false)

	f.Fuzz(func(t *testing.T, text []byte, elsewhere bool) {
		whole := &corev1.Service{}
		if json.Unmarshal(text, whole) != nil || whole.Annotations[declaredMark] != "" || isForGateway(whole) {
			return
		}
		whole.Labels = nil // labels aren't read
		trimmed, namespaces := whole.DeepCopy(), []string{whole.Namespace}
		if elsewhere {
			namespaces = []string{whole.Namespace + "-2"}
			delete(whole.Annotations, keys.Multiplexer)
		}
		want := parsed(language, whole)
		Trim(trimmed, language, namespaces)
		if diff := cmp.Diff(want, parsed(language, trimmed)); diff != "" {
			t.Errorf("it is parsed differently (-whole +trimmed):\n%s", diff)
		}
		twice := trimmed.DeepCopy()
		Trim(twice, language, namespaces)
		if diff := cmp.Diff(trimmed, twice); diff != "" {
			t.Errorf("trimmed twice (-once +twice):\n%s", diff)
		}
		if elsewhere && language.Classify(trimmed).Mux() {
			t.Error("a mux elsewhere is a mux in the cache")
		}
	})
}
