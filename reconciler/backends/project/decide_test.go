package project_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// carriedOut returns a view after its first decision was carried out.
func carriedOut(t *testing.T) project.View {
	t.Helper()
	st := &stage{stands: map[string]*discoveryv1.EndpointSlice{}}
	st.carryOut(t, project.Decide(podView(t, map[string][]int{"web": {1}}, st)))
	return podView(t, map[string][]int{"web": {1}}, st)
}

func TestASliceOfAnotherAddressTypeIsReplacedInTwoPasses(t *testing.T) {
	v := carriedOut(t)
	v.Carried[0].AddressType = "IPv6"
	decided := project.Decide(v)
	if len(decided.Steps) != 1 || decided.Steps[0].Op != project.Delete || decided.Carried != 0 {
		t.Fatalf("the first pass: %s", decided.String())
	}
	v.Carried = nil
	if decided = project.Decide(v); len(decided.Steps) != 1 || decided.Steps[0].Op != project.Create ||
		decided.Carried != 1 {
		t.Errorf("the second pass: %s", decided.String())
	}
}

func TestASliceThatIsBeingDeletedIsNotDeletedAgain(t *testing.T) {
	v := carriedOut(t)
	v.Claims = nil
	if decided := project.Decide(v); len(decided.Steps) != 1 {
		t.Fatalf("a slice without claims: %s", decided.String())
	}
	v.Carried[0].DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if decided := project.Decide(v); !decided.Empty() {
		t.Errorf("it is on its way: %s", decided.String())
	}
}

func TestAServiceThatIsNoMuxKeepsNoSlice(t *testing.T) {
	v := carriedOut(t)
	v.Mux.IsMux = false
	for _, v.ClaimsKnown = range []bool{true, false} {
		if decided := project.Decide(v); len(decided.Steps) != 1 || decided.Steps[0].Op != project.Delete ||
			decided.Carried != 0 {
			t.Errorf("claims known: %t: %s", v.ClaimsKnown, decided.String())
		}
	}
}

func TestAnOwnerBesideTheMuxIsNoDifference(t *testing.T) {
	v := carriedOut(t)
	other := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "mux", UID: "2"}
	v.Carried[0].OwnerReferences = append(v.Carried[0].OwnerReferences, other)
	if decided := project.Decide(v); !decided.Empty() {
		t.Errorf("another owner beside the mux: %s", decided.String())
	}
	v.Mux.UID = "the mux was recreated"
	decided := project.Decide(v)
	if owners := decided.Steps[0].Slice.OwnerReferences; len(owners) != 1 || owners[0].UID != v.Mux.UID {
		t.Errorf("owners: %v", owners)
	}
}

func TestANameThatDoesNotFitTheLabels(t *testing.T) {
	keys := keys(t)
	for name, test := range map[string]struct {
		change func(*discoveryv1.EndpointSlice)
		want   bool
	}{
		"a slice as it was written": {func(*discoveryv1.EndpointSlice) {}, true},
		"a copy":                    {func(s *discoveryv1.EndpointSlice) { s.Name = "copy" }, false},
		"another channel's name": {func(s *discoveryv1.EndpointSlice) { s.Labels[keys.ChannelName] = "other" },
			false},
		"another source's name": {func(s *discoveryv1.EndpointSlice) { s.Labels[keys.Source] = "other" }, false},
		"another mux's name": {func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "other" },
			false},
		"no channel": {func(s *discoveryv1.EndpointSlice) { delete(s.Labels, keys.ChannelName) },
			false},
		"a source's name that was cut off": {
			func(s *discoveryv1.EndpointSlice) { s.Labels[keys.Source] = string(make([]byte, 63)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			slice := carriedOut(t).Carried[0]
			test.change(slice)
			if got := project.HasOwnName(keys, slice); got != test.want {
				t.Errorf("has its own name: %t", got)
			}
		})
	}
}

func TestOwnersOfSliceAreServices(t *testing.T) {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Pod", UID: "pod"}, {APIVersion: "serving.knative.dev/v1", Kind: "Service", UID: "knative"},
		{APIVersion: "v1", Kind: "Service", UID: "mux"},
	}}}
	if owners := project.OwnersOfSlice(slice); len(owners) != 1 || owners[0] != "mux" {
		t.Errorf("owners: %v", owners)
	}
}

func TestMuxOfASliceWithoutItsLabel(t *testing.T) {
	slice := carriedOut(t).Carried[0]
	slice.Labels = nil
	if mux := project.MuxOfSlice(keys(t), slice); mux.String() != "svc-mux/mux" {
		t.Errorf("mux: %s", mux)
	}
}

func TestCarriedBacking(t *testing.T) {
	source := func(family discoveryv1.AddressType, ready bool) *discoveryv1.EndpointSlice {
		v := podView(t, map[string][]int{"web": {1}}, &stage{})
		v.Sources[0].AddressType, v.Sources[0].Endpoints[0].Conditions.Ready = family, &ready
		return v.Sources[0]
	}
	http, dns := []corev1.ServicePort{{Name: "http"}}, []corev1.ServicePort{{Name: "http", Protocol: "UDP"}}
	for name, test := range map[string]struct {
		carried, sources []*discoveryv1.EndpointSlice
		ports            []corev1.ServicePort
		want             plan.Backing
	}{
		"nothing ready":       {nil, []*discoveryv1.EndpointSlice{source("IPv4", false)}, http, plan.Unbacked},
		"no port that counts": {nil, []*discoveryv1.EndpointSlice{source("IPv4", true)}, dns, plan.Unbacked},
		"a listener":          {nil, []*discoveryv1.EndpointSlice{source("IPv4", true)}, nil, plan.NotCarried},
		"another family":      {nil, []*discoveryv1.EndpointSlice{source("IPv6", true)}, http, plan.OtherFamily},
		"another family, then ok": {nil, []*discoveryv1.EndpointSlice{source("IPv6", true), source("IPv4", true)}, http,
			plan.NotCarried},
		"host names":         {nil, []*discoveryv1.EndpointSlice{source("FQDN", true)}, http, plan.Unbacked},
		"carried":            {[]*discoveryv1.EndpointSlice{source("IPv4", true)}, nil, http, plan.Backed},
		"carried, not ready": {[]*discoveryv1.EndpointSlice{source("IPv4", false)}, nil, http, plan.Unbacked},
		"carried without ports": {[]*discoveryv1.EndpointSlice{{Endpoints: source("IPv4", true).Endpoints}}, nil, http,
			plan.Unbacked},
	} {
		t.Run(name, func(t *testing.T) {
			got := project.CarriedBacking(test.carried, test.sources, test.ports, []corev1.IPFamily{"IPv4"})
			if got != test.want {
				t.Errorf("backing: %d, want %d", got, test.want)
			}
		})
	}
}

// TestALongSourceName tries the longest name that fits into a label, and names that are one character shorter and
// longer.
func TestALongSourceName(t *testing.T) {
	for length, want := range map[int]int{62: 62, 63: 63, 64: 63} {
		source := strings.Repeat("a", length)
		decided := project.Decide(podView(t, map[string][]int{source: {1}}, &stage{}))
		label := decided.Steps[0].Slice.Labels[keys(t).Source]
		if len(label) != want || (label == source) != (length <= 63) {
			t.Errorf("a name of %d: label %q", length, label)
		}
	}
}
