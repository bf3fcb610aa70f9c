package backends

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// TestTrimKeepsCarriedFields trims a slice with long values in all other fields.
func TestTrimKeepsCarriedFields(t *testing.T) {
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	keys, much := language.Keys(), strings.Repeat("x", 100_000)
	bare := func(labels, annotations map[string]string, owners ...metav1.OwnerReference) *discoveryv1.EndpointSlice {
		name, node := "http", "node-1"
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "web-1", UID: "u", ResourceVersion: "7", Labels: labels,
				Annotations: annotations, OwnerReferences: owners},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1", "10.0.0.2"}, NodeName: &node, Hostname: &name,
				Zone:      &name,
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "web-1", UID: "p", ResourceVersion: "3"},
				Hints:     &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "a"}}}}},
		}
	}
	source := map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "somebody"}
	ours := map[string]string{discoveryv1.LabelServiceName: "mux", keys.ChannelName: "web", keys.ChannelNamespace: "app",
		keys.Source: "web-1"}
	notes := map[string]string{keys.Managed: "true", keys.Mux: "svc-mux/mux"}
	owner := metav1.OwnerReference{Kind: "Service", Name: "mux"}
	empty := func(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
		slice.Endpoints, slice.Ports = nil, nil
		return slice
	}
	named := func(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
		slice.AddressType = discoveryv1.AddressTypeFQDN
		return slice
	}
	for name, test := range map[string]struct{ is, want *discoveryv1.EndpointSlice }{
		"a channel's":            {bare(source, nil, owner), bare(source, nil)},
		"ours":                   {bare(ours, notes, owner), bare(ours, notes, owner)},
		"of no Service":          {bare(nil, nil), empty(bare(nil, nil))},
		"with names":             {named(bare(source, nil)), empty(named(bare(source, nil)))},
		"ours that lost a label": {bare(nil, notes), bare(nil, notes)},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.is.DeepCopy()
			got.GenerateName, got.Finalizers, got.ManagedFields = "web-", []string{much}, make([]metav1.ManagedFieldsEntry, 100)
			got.Labels, got.Annotations = with(got.Labels, "team", much), with(got.Annotations, "example.com/note", much)
			for i := range got.Endpoints {
				got.Endpoints[i].DeprecatedTopology = map[string]string{"zone": much}
				got.Endpoints[i].TargetRef.FieldPath = much
			}
			for range 2 {
				Trim(got, keys)
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
	for i, change := range []func(*corev1.ObjectReference){
		func(r *corev1.ObjectReference) { r.Kind = much }, func(r *corev1.ObjectReference) { r.Namespace = much },
		func(r *corev1.ObjectReference) { r.Name = much }, func(r *corev1.ObjectReference) { r.UID = types.UID(much) },
		func(r *corev1.ObjectReference) { r.APIVersion = much }, func(r *corev1.ObjectReference) { r.ResourceVersion = much },
	} {
		slice := bare(source, nil)
		change(slice.Endpoints[0].TargetRef)
		Trim(slice, keys)
		if text, err := json.Marshal(slice); err != nil || len(text) > 1000 {
			t.Errorf("reference %d: %d bytes are kept, %v", i, len(text), err)
		}
	}
}

func with(all map[string]string, key, value string) map[string]string {
	more := map[string]string{key: value}
	for key, value := range all {
		more[key] = value
	}
	return more
}

// TestTheLongestNameIsKept trims parts that are as long as a name may be, and parts that are longer by one.
func TestTheLongestNameIsKept(t *testing.T) {
	keys := newKeys(t)
	for length, want := range map[int]bool{longestPart: true, longestPart + 1: false} {
		text := strings.Repeat("a", length)
		slice := &discoveryv1.EndpointSlice{AddressType: "IPv4",
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{keys.Managed: "true", keys.Mux: text}},
			Endpoints:  []discoveryv1.Endpoint{{TargetRef: &corev1.ObjectReference{Name: text}}}}
		Trim(slice, keys)
		if _, kept := slice.Annotations[keys.Mux]; kept != want || (slice.Endpoints[0].TargetRef != nil) != want {
			t.Errorf("%d letters: annotations %v, reference %v", length, slice.Annotations, slice.Endpoints[0].TargetRef)
		}
	}
}

func newKeys(t *testing.T) validation.Keys {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	return language.Keys()
}

// Without its settings in the cache, a slice of a mux on gateways would be written in every pass.
func TestTrimKeepsTheSettingsForGateways(t *testing.T) {
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	keys, long := language.Keys(), strings.Repeat("192.0.2.0/24,", 100)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: "mux"},
			Annotations: map[string]string{keys.Managed: "true", keys.SourceRanges: long, keys.SessionAffinity: "ClientIP",
				keys.TrafficPolicy: "Local", "x": "y"}}}
	want := maps.Clone(slice.Annotations)
	delete(want, "x")
	Trim(slice, keys)
	if diff := cmp.Diff(want, slice.Annotations); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
