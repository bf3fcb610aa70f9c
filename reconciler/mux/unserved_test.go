package mux

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// TestMuxElsewhereIsMarkedInTheCache: in the cache it is no mux, and its mark causes an Event. An informer may trim it twice.
func TestMuxElsewhereIsMarkedInTheCache(t *testing.T) {
	language := languageOf(t)
	keys := language.Keys()
	line := &Line{Options: Options{Language: language, Namespaces: []string{"edge"}}}
	for name, test := range map[string]struct {
		namespace string
		change    func(*corev1.Service)
		told      bool
	}{
		"a served mux":                          {"edge", func(*corev1.Service) {}, false},
		"a mux elsewhere":                       {"away", func(*corev1.Service) {}, true},
		"a mux elsewhere, of another release":   {"away", func(svc *corev1.Service) { annotate(svc, keys.Generation, "7") }, false},
		"a mux elsewhere that is being deleted": {"away", func(svc *corev1.Service) { svc.DeletionTimestamp = &metav1.Time{} }, false},
		"a Service elsewhere":                   {"away", func(svc *corev1.Service) { delete(svc.Annotations, keys.Multiplexer) }, false},
		"a Service elsewhere that isn't a mux": {"away", func(svc *corev1.Service) {
			annotate(svc, keys.Multiplexer, "false")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "mux"},
				Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
			annotate(svc, keys.Multiplexer, "true")
			test.change(svc)
			for range 2 {
				line.trim(svc)
				if got := line.isUnservedMux(svc); got != test.told {
					t.Errorf("unserved: %v, want %v", got, test.told)
				}
				if isMux := language.Classify(svc) != validation.Stranger; isMux != (test.namespace == "edge") {
					t.Errorf("a mux in the cache: %v", isMux)
				}
			}
		})
	}
}
