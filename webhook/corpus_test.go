package webhook

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/zapcore"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/test/corpus"
	"nowake.ai/svc-lb-mux/validation"
)

// TestCorpus sends every Service of the corpus over HTTP.
func TestCorpus(t *testing.T) {
	cases, err := corpus.Load()
	if err != nil {
		t.Fatal(err)
	}
	door := newDoor(t, zapcore.ErrorLevel)
	for _, c := range cases {
		t.Run(c.Name(), func(t *testing.T) {
			got := door.ask(t, request(t, c.Old, c.Service))
			if diff := cmp.Diff(c.Deny, causes(got)); diff != "" || got.Allowed != (len(c.Deny) == 0) {
				t.Errorf("allowed %v, causes (-want +got):\n%s", got.Allowed, diff)
			}
			checkWarnings(t, got.Warnings)
			if want := len(c.Warn) + len(c.Tolerated); len(got.Warnings) != want && !cut(got.Warnings) {
				t.Errorf("%d warnings, want %d: %q", len(got.Warnings), want, got.Warnings)
			}
		})
	}
	if len(cases) < 500 {
		t.Errorf("only %d cases: the corpus is incomplete", len(cases))
	}
}

// TestUpdateWithUnchangedSpecAndAnnotationsIsNeverDenied checks the assumption of the chart's matchConditions, which
// exclude such updates from reviews. No such update may cause a denial or a prediction, however bad the Service is.
func TestUpdateWithUnchangedSpecAndAnnotationsIsNeverDenied(t *testing.T) {
	cases, err := corpus.Load()
	if err != nil {
		t.Fatal(err)
	}
	api := named("team-b", "api", 8080)
	services := []*corev1.Service{api, named("team-a", "web", 8080), testMux(t, map[string]string{"max-ports": "1"}, api)}
	for _, c := range cases {
		services = append(services, c.Service)
	}
	seer := newSeer(t, services[:3]...)
	seer.strict = true
	for _, svc := range services {
		other := svc.DeepCopy()
		other.Labels = map[string]string{validation.DefaultPrefix + "/multiplexer": "true"}
		other.Finalizers, other.Status = []string{"example.com/held"}, corev1.ServiceStatus{}
		other.ManagedFields, other.OwnerReferences, other.Generation = nil, nil, 7
		if got := seer.review(t, request(t, svc, other)); !got.Allowed {
			t.Errorf("%s is denied: %v", keyOf(svc), got.Result)
		}
		if told := seer.predictions(svc, other); len(told) > 0 {
			t.Errorf("predictions for %s: %v", keyOf(svc), told)
		}
	}
}

func causes(response *admissionv1.AdmissionResponse) []corpus.Expect {
	if response.Result == nil || response.Result.Details == nil {
		return nil
	}
	var all []corpus.Expect
	for _, cause := range response.Result.Details.Causes {
		all = append(all, corpus.Expect{Reason: validation.Reason(cause.Type), Field: cause.Field})
	}
	slices.SortFunc(all, corpus.Expect.Compare)
	return all
}

// cut says that the last line is the count of omitted warnings.
func cut(warnings []string) bool {
	return len(warnings) > 0 && len(warnings[len(warnings)-1]) < len("and 12345 more")+1 &&
		warnings[len(warnings)-1][:4] == "and "
}
