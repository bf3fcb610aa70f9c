package project_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// FuzzSlices decides from any source slice and any slice in the mux's namespace. After two passes nothing is left to
// do. Written slices have valid names and labels, and name their channel and their mux.
func FuzzSlices(f *testing.F) {
	golden.Seeds(f)
	const source = `{"metadata":{"name":"web-1","namespace":"app"},"addressType":"IPv4",
		"ports":[{"name":"http","port":8080},{"name":"dns","protocol":"UDP","port":53},{}],
		"endpoints":[{"addresses":["10.0.0.1"],"conditions":{"ready":true},"deprecatedTopology":{"a":"b"}}]}`
	channel, mux := types.NamespacedName{Namespace: "app", Name: "web"},
		types.NamespacedName{Namespace: "infra", Name: "mux"}
	view := project.View{
		Keys: keys(f), Channel: channel, ClaimsKnown: true, Mux: project.Mux{Key: mux, UID: "m", IsMux: true},
		Claims: []plan.Claim{
			{Owner: plan.PortID{Channel: channel, Name: "http", Protocol: corev1.ProtocolTCP}, MuxName: "1f0c5fd"},
			{Owner: plan.PortID{Channel: channel, Name: "dns", Protocol: corev1.ProtocolUDP}, MuxName: "name-2"},
			{Owner: plan.PortID{Channel: channel, Name: "dns", Protocol: corev1.ProtocolTCP}, MuxName: "name-3"},
		},
	}
	var read discoveryv1.EndpointSlice
	if err := json.Unmarshal([]byte(source), &read); err != nil {
		f.Fatal(err)
	}
	view.Sources = []*discoveryv1.EndpointSlice{&read}
	ours, err := json.Marshal(project.Decide(view).Steps[0].Slice)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(source), []byte("{}"))
	f.Add([]byte(source), ours)
	f.Add(ours, []byte(source))
	f.Add(
		[]byte(
			`{"metadata":{"name":"web-1"},"addressType":"IPv6","ports":[{"name":"http","port":1},{"name":"http","port":2},`+
				`{"name":"http"}],"endpoints":[{}]}`), ours)
	f.Add([]byte(`{"addressType":"FQDN"}`),
		[]byte(
			`{"metadata":{"name":"a","labels":{"kubernetes.io/service-name":"x"},`+
				`"annotations":{"svc-mux.nowake.ai/managed":"true"}}}`))

	f.Fuzz(func(t *testing.T, first, second []byte) {
		source, found := &discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSlice{}
		if json.Unmarshal(first, source) != nil || json.Unmarshal(second, found) != nil ||
			len(validation.IsDNS1123Subdomain(source.Name)) > 0 {
			return
		}
		found.Namespace = mux.Namespace
		v, st := view, &stage{stands: map[string]*discoveryv1.EndpointSlice{}}
		v.Sources = []*discoveryv1.EndpointSlice{source}
		if carried, ours := project.ChannelOfSlice(v.Keys, found); ours && carried == channel {
			st.stands[found.Name] = found
		} else {
			v.Taken = map[string]bool{found.Name: true}
		}
		before := cloneAll([]*discoveryv1.EndpointSlice{source, found})
		for range 2 {
			v.Carried = nil
			for _, slice := range st.stands {
				v.Carried = append(v.Carried, slice)
			}
			pass := project.Decide(v)
			for i := range pass.Steps {
				checkSlice(t, &v, &pass.Steps[i])
			}
			st.carryOut(t, pass)
		}
		v.Carried = nil
		for _, slice := range st.stands {
			v.Carried = append(v.Carried, slice)
		}
		if last := project.Decide(v); !last.Empty() {
			t.Errorf("there is no end to it: %s", last.String())
		}
		if diff := cmp.Diff(before, []*discoveryv1.EndpointSlice{source, found}); diff != "" {
			t.Errorf("what was seen is changed:\n%s", diff)
		}
	})
}

func checkSlice(t *testing.T, v *project.View, step *project.Step) {
	t.Helper()
	slice := step.Slice
	if step.Op == project.Delete {
		return
	}
	wrong := validation.IsDNS1123Subdomain(slice.Name)
	for _, value := range slice.Labels {
		wrong = append(wrong, validation.IsValidLabelValue(value)...)
	}
	names := map[string]bool{}
	for _, port := range slice.Ports {
		if port.Name == nil || port.Port == nil || names[*port.Name] {
			wrong = append(wrong, "a port without a name or a number, or twice")
			continue
		}
		names[*port.Name] = true
	}
	if carried, ours := project.ChannelOfSlice(v.Keys, slice); len(wrong) > 0 || !ours || carried != v.Channel ||
		project.MuxOfSlice(v.Keys, slice) != v.Mux.Key {
		t.Errorf("%s writes what nobody takes, or knows again: %q: %+v", step.String(), wrong, slice)
	}
	for name, owner := range project.RecordsOf(v.Keys, []*discoveryv1.EndpointSlice{slice}) {
		if !names[name] || owner != v.Channel {
			t.Errorf("%s is recorded for %s", name, owner)
		}
	}
}
