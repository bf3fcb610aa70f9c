package addresses

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/validation"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func testLanguage(t testing.TB) validation.Language {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	return language
}

// written is a mux that a controller and others wrote to.
func written(keys validation.Keys) *corev1.Service {
	vip := corev1.LoadBalancerIPModeVIP
	before := metav1.NewTime(noon.Add(-time.Hour))
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "web", UID: "1", ResourceVersion: "7", Generation: 3,
			Annotations: map[string]string{keys.CarriedBy: "a", "note": "kept"}},
		Status: corev1.ServiceStatus{
			LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "203.0.113.1", IPMode: &vip},
				{Hostname: "example.com"}}},
			Conditions: []metav1.Condition{
				{Type: "Foreign", Status: metav1.ConditionTrue, Reason: "Kept", LastTransitionTime: before},
				{Type: keys.Addressed, Status: metav1.ConditionTrue, Reason: "Addressed", LastTransitionTime: before},
				{Type: keys.Carried, Status: metav1.ConditionTrue, Reason: "Carried", LastTransitionTime: before},
			},
		},
	}
}

// patched merges a change's patch as the API server does.
func patched(t *testing.T, keys validation.Keys, change *Change) *corev1.Service {
	t.Helper()
	patch, err := change.patch(keys)
	if err != nil {
		t.Fatal(err)
	}
	original, err := json.Marshal(change.Service)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := strategicpatch.StrategicMergePatch(original, patch, corev1.Service{})
	if err != nil {
		t.Fatal(err)
	}
	var after corev1.Service
	if err := json.Unmarshal(merged, &after); err != nil {
		t.Fatal(err)
	}
	return &after
}

func TestStatusIsReplacedAndForeignPartsStay(t *testing.T) {
	keys := testLanguage(t).Keys()
	svc := written(keys)
	change := changeOf(keys, &decide.Status{
		Mux: &decide.Mux{Service: svc}, SetsAddresses: true, CarriedBy: "b",
		Addresses: []netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.1")},
		Addressed: decide.Condition{Status: metav1.ConditionTrue, Reason: "Addressed", Message: "new"},
		Carried:   decide.Condition{Status: metav1.ConditionFalse, Reason: "NoGateway"},
	}, noon)
	before := svc.DeepCopy()
	got := patched(t, keys, &change)
	if diff := cmp.Diff(before, svc); diff != "" {
		t.Errorf("the cached object was changed:\n%s", diff)
	}
	want := written(keys)
	proxy := corev1.LoadBalancerIPModeProxy
	want.Annotations[keys.CarriedBy] = "b"
	want.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "2001:db8::1", IPMode: &proxy},
		{IP: "192.0.2.1", IPMode: &proxy}}
	want.Status.Conditions[1].Message, want.Status.Conditions[1].ObservedGeneration = "new", 3
	want.Status.Conditions[2] = metav1.Condition{Type: keys.Carried, Status: metav1.ConditionFalse, Reason: "NoGateway",
		ObservedGeneration: 3,
		LastTransitionTime: metav1.NewTime(noon)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHiddenAndCleanedStatusIsEmpty(t *testing.T) {
	keys := testLanguage(t).Keys()
	change := changeOf(keys, &decide.Status{Mux: &decide.Mux{Service: written(keys)}, SetsAddresses: true, Clean: true},
		noon)
	got := patched(t, keys, &change)
	if len(got.Status.LoadBalancer.Ingress) > 0 || len(got.Status.Conditions) != 1 ||
		got.Status.Conditions[0].Type != "Foreign" {
		t.Errorf("status: %+v", got.Status)
	}
	if diff := cmp.Diff(map[string]string{"note": "kept"}, got.Annotations); diff != "" {
		t.Error(diff)
	}
}

func TestPatchCarriesUIDAndVersion(t *testing.T) {
	keys := testLanguage(t).Keys()
	change := changeOf(keys, &decide.Status{Mux: &decide.Mux{Service: written(keys)}, CarriedBy: "a"}, noon)
	patch, err := change.patch(keys)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"metadata":{"resourceVersion":"7","uid":"1"},"status":{}}`; string(patch) != want {
		t.Errorf("got %s", patch)
	}
}
