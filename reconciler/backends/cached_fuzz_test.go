package backends

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kube "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// FuzzTrim trims any slice. Decisions from the trimmed slice are the same, and trimming it again changes nothing.
func FuzzTrim(f *testing.F) {
	golden.Seeds(f)
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		f.Fatal(err)
	}
	keys := language.Keys()
	carried := project.Decide(viewOf(keys, nil)).Steps[0].Slice
	torn := carried.DeepCopy()
	torn.Labels, torn.OwnerReferences = nil, append(torn.OwnerReferences,
		metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "x"})
	taken := carried.DeepCopy()
	taken.Labels, taken.Annotations, taken.Finalizers = nil, nil, []string{"example.com/keep"}
	mirrored := carried.DeepCopy()
	mirrored.Labels[discoveryv1.LabelManagedBy] = project.MirroringController
	for _, slice := range []*discoveryv1.EndpointSlice{carried, torn, taken, mirrored, sourceOf("web-2")} {
		text, err := json.Marshal(slice)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		`{"metadata":{"namespace":"app","name":"web-3","labels":{"kubernetes.io/service-name":"web"}},"addressType":"IPv6",
			"ports":[{"name":"dns","protocol":"UDP","port":53},{}],
			"endpoints":[{"addresses":["10.0.0.1"],"conditions":{"ready":false},"deprecatedTopology":{"a":"b"},
			"targetRef":{"kind":"Pod","fieldPath":"x"},"zone":"a","nodeName":"n"}]}`,
		`{"metadata":{"namespace":"app","labels":{"kubernetes.io/service-name":"web"}},"addressType":"FQDN",` +
			`"ports":[{"name":"http","port":1}],"endpoints":[{"addresses":["a"]}]}`,
		`{"metadata":{"namespace":"infra","labels":{"svc-mux.nowake.ai/channel-name":"web"},` +
			`"annotations":{"svc-mux.nowake.ai/managed":"true","svc-mux.nowake.ai/mux":"infra/mux"}}}`,
	} {
		f.Add([]byte(text))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		whole := &discoveryv1.EndpointSlice{}
		if json.Unmarshal(text, whole) != nil || !canBe(whole, keys) {
			return
		}
		trimmed := whole.DeepCopy()
		Trim(trimmed, keys)
		if diff := cmp.Diff(seenAs(keys, whole), seenAs(keys, trimmed)); diff != "" {
			t.Errorf("it reads as another (-whole +trimmed):\n%s", diff)
		}
		twice := trimmed.DeepCopy()
		Trim(twice, keys)
		if diff := cmp.Diff(trimmed, twice); diff != "" {
			t.Errorf("trimmed twice (-once +twice):\n%s", diff)
		}
	})
}

// canBe is false for a slice that no API server stores, and for names that are too long: Trim drops them. canBe also
// clears the fields of the slice that are never carried.
func canBe(slice *discoveryv1.EndpointSlice, keys validation.Keys) bool {
	for _, value := range slice.Labels {
		if len(kube.IsValidLabelValue(value)) > 0 {
			return false
		}
	}
	if len(slice.Annotations[keys.Managed]) > longestPart || len(slice.Annotations[keys.Mux]) > longestPart {
		return false
	}
	for i := range slice.Endpoints {
		slice.Endpoints[i].DeprecatedTopology = nil
		if target := slice.Endpoints[i].TargetRef; target != nil {
			target.FieldPath = ""
			for _, part := range []string{target.APIVersion, target.Kind, target.Namespace, target.Name, string(target.UID),
				target.ResourceVersion} {
				if len(part) > longestPart {
					return false
				}
			}
		}
	}
	return true
}

// sourceOf returns a slice of the channel.
func sourceOf(name string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name, UID: types.UID(name), ResourceVersion: "7",
			GenerateName:    "web-",
			Labels:          map[string]string{discoveryv1.LabelServiceName: "web", "team": "a"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Service", Name: "web"}}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "web-1"}}},
	}
}

// viewOf returns the view of a channel with one fixed source. The other slice is a source, a carried slice or a foreign
// slice, as observe would find it.
func viewOf(keys validation.Keys, other *discoveryv1.EndpointSlice) project.View {
	channel, mux := types.NamespacedName{Namespace: "app", Name: "web"},
		types.NamespacedName{Namespace: "infra", Name: "mux"}
	view := project.View{
		Keys: keys, Channel: channel, ClaimsKnown: true, Mux: project.Mux{Key: mux, UID: "m", IsMux: true},
		Taken: map[string]bool{},
		Claims: []plan.Claim{
			{Owner: plan.PortID{Channel: channel, Name: "http", Protocol: corev1.ProtocolTCP}, MuxName: "1f0c5fd"},
			{Owner: plan.PortID{Channel: channel, Name: "dns", Protocol: corev1.ProtocolUDP}, MuxName: "name-2"},
		},
		Sources: []*discoveryv1.EndpointSlice{sourceOf("web-1")},
	}
	if other == nil {
		return view
	}
	carried, told := project.ChannelOfSlice(keys, other)
	ours := project.IsOurSlice(keys, other)
	switch byName := other.Name == project.SliceName(mux, channel, "web-1", discoveryv1.AddressTypeIPv4) &&
		other.Namespace == mux.Namespace; {
	case told && carried == channel, ours && byName:
		view.Carried = append(view.Carried, other)
	case byName:
		view.Taken[other.Name] = true
	case !ours && other.Namespace == channel.Namespace && other.Labels[discoveryv1.LabelServiceName] == channel.Name:
		view.Sources = append(view.Sources, other)
	}
	return view
}

// seenAs returns, as text, everything that decisions and messages take from a slice.
func seenAs(keys validation.Keys, slice *discoveryv1.EndpointSlice) string {
	list := []*discoveryv1.EndpointSlice{slice}
	channel, told := project.ChannelOfSlice(keys, slice)
	ours := project.IsOurSlice(keys, slice)
	text := fmt.Sprintf("ours: %t, of %s %t, named so: %t, records %v\n", ours, channel, told,
		project.HasOwnName(keys, slice), project.RecordsOf(keys, list))
	if ours {
		text += fmt.Sprintf("on %s, owned by %v\n", project.MuxOfSlice(keys, slice), project.OwnersOfSlice(slice))
	} else if service := slice.Labels[discoveryv1.LabelServiceName]; service != "" {
		all := []corev1.ServicePort{{Name: "http"}, {Name: "http", Protocol: "UDP"}, {Name: "dns", Protocol: "UDP"}}
		text += fmt.Sprintf("of %s: %d, %d\n", service, project.BackingOf(list, all, nil),
			project.BackingOf(list, all, []corev1.IPFamily{corev1.IPv6Protocol}))
	}
	decided := project.Decide(viewOf(keys, slice))
	text += decided.String()
	for _, step := range decided.Steps {
		text += fmt.Sprintf("%q %q %t\n", step.UID, step.ResourceVersion, step.Loses)
		if step.Op != project.Delete {
			text += jsonOf(step.Slice) + "\n"
		}
	}
	return text
}

func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
