package services

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/corpus"
	"nowake.ai/svc-lb-mux/validation"
)

func languageOf(t testing.TB) validation.Language {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, corpus.MuxNamespace)
	if err != nil {
		t.Fatal(err)
	}
	return language
}

// parsed returns everything that is parsed from a Service, as text.
func parsed(language validation.Language, svc *corev1.Service) string {
	kind := language.Classify(svc)
	text := kind.String() + string(svc.Spec.Type)
	if kind.Mux() {
		mux := *plan.ReadMux(language, svc, declaresPlaceholder(svc) || plan.DeclaresPlaceholder(svc))
		warnings := mux.Warnings
		mux.Warnings = nil
		text += fmt.Sprintf("%+v", mux) + warningText(warnings)
	}
	if kind.Channel() {
		channel, found := language.ParseChannel(svc)
		text += fmt.Sprintf("%+v %+v %+v", plan.ReadChannel(language, svc), channel, found.Problems) +
			warningText(found.Warnings)
	}
	if kind == validation.Stranger {
		seen := plan.ReadChannel(language, svc)
		text += fmt.Sprintf("%+v", plan.Stray(language.Keys(), &seen)) + warningText(language.Typos(svc))
	}
	return text
}

// warningText returns the warnings as users see them: a long value is cut.
func warningText(warnings []validation.Problem) string {
	var text strings.Builder
	for _, warning := range warnings {
		fmt.Fprintln(&text, warning.Reason, warning.Field, warning.Message)
	}
	return text.String()
}

// TestTrimmedServiceIsParsedTheSame after one trim and after two: an informer may trim an object more than once.
func TestTrimmedServiceIsParsedTheSame(t *testing.T) {
	cases, err := corpus.Load()
	if err != nil {
		t.Fatal(err)
	}
	language := languageOf(t)
	for _, c := range cases {
		for _, change := range []func(*corev1.Service){
			func(*corev1.Service) {},
			func(svc *corev1.Service) { addLeftovers(svc, language.Keys()) },
			addUnknownAnnotations,
		} {
			svc := c.Service.DeepCopy()
			change(svc)
			svc.Labels = nil // labels aren't read
			want := parsed(language, svc)
			for range 2 {
				Trim(svc, language, nil)
				if diff := cmp.Diff(want, parsed(language, svc)); diff != "" {
					t.Fatalf("%s: (-whole +trimmed)\n%s", c.Name(), diff)
				}
			}
		}
	}
}

// addLeftovers adds the leftovers of a former channel to a Service.
func addLeftovers(svc *corev1.Service, keys validation.Keys) {
	annotate(svc, keys.Ports, "http:80->20000")
	annotate(svc, "kopf.zalando.org/last-handled-configuration", "{}")
	annotate(svc, "meta.helm.sh/release-name", "edge")
	svc.Finalizers = []string{"example.com/keep", keys.Finalizer}
	svc.Status.Conditions = []metav1.Condition{{Type: "example.com/Ready"}, {Type: keys.Accepted, Status: "True"}}
}

// addUnknownAnnotations adds more annotations of each kind than warnings list.
func addUnknownAnnotations(svc *corev1.Service) {
	for i := range 40 {
		for _, key := range []string{"svc-mux.nowake.ai/x%d", "svc-mux.nowake.ia/port-range%d",
			"service.beta.kubernetes.io/x%d", "example.com/x%d"} {
			annotate(svc, fmt.Sprintf(key, i), strings.Repeat("long ", 100))
		}
	}
}

func annotate(svc *corev1.Service, key, value string) {
	if svc.Annotations == nil {
		svc.Annotations = map[string]string{}
	}
	svc.Annotations[key] = value
}

func sizeOf(t *testing.T, object any) int {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

func TestTrimmedServiceIsSmall(t *testing.T) {
	language := languageOf(t)
	keys := language.Keys()
	channel := keys.Multiplexer[:strings.IndexByte(keys.Multiplexer, '/')] + "/mux"
	much := strings.Repeat("x", 100_000)
	for name, test := range map[string]struct {
		make func(*corev1.Service)
		most int
	}{
		"a stranger": {func(svc *corev1.Service) {
			svc.Spec.Selector, svc.Spec.ExternalIPs, svc.Spec.ExternalName = map[string]string{"app": much}, []string{much}, much
			svc.Spec.Ports = make([]corev1.ServicePort, 10_000)
			svc.Status.LoadBalancer.Ingress = make([]corev1.LoadBalancerIngress, 10_000)
			annotate(svc, keys.ExternalPorts, much)
		}, 1000},
		"a channel": {func(svc *corev1.Service) { svc.Spec.LoadBalancerClass = &channel }, 1000},
		"a mux":     {func(svc *corev1.Service) { annotate(svc, keys.Multiplexer, "true") }, 1000},
		"a Service with many unknown annotations": {func(svc *corev1.Service) {
			addUnknownAnnotations(svc)
			for i := range 1000 {
				annotate(svc, fmt.Sprintf("cloud.google.com/x%d", i), much)
				annotate(svc, fmt.Sprintf("kopf.zalando.org/x%d", i), much)
			}
		}, 40_000},
	} {
		t.Run(name, func(t *testing.T) {
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "web",
				Labels:        map[string]string{"x": much},
				ManagedFields: make([]metav1.ManagedFieldsEntry, 1000), OwnerReferences: make([]metav1.OwnerReference, 1000)}}
			annotate(svc, "example.com/note", much)
			annotate(svc, corev1.LastAppliedConfigAnnotation, much)
			test.make(svc)
			Trim(svc, language, nil)
			if size := sizeOf(t, svc); size > test.most {
				t.Errorf("%d bytes are kept: %.300v", size, svc)
			}
		})
	}
}
