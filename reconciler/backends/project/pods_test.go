package project_test

import (
	"fmt"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// TestPodsThatMoveAreNeverMissing moves pods from one source to another, and checks after every write that the mux has
// all pods.
func TestPodsThatMoveAreNeverMissing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.Permutation([]string{"web-a", "web-b", "web-c"}).Draw(rt, "sources")
		pods := map[string][]int{names[0]: {1, 2, 3, 4}, names[1]: {5, 6}, names[2]: {7}}
		st := &stage{stands: map[string]*discoveryv1.EndpointSlice{}}
		first := podView(t, pods, st)
		st.carryOut(t, project.Decide(first))
		n := rapid.IntRange(1, 4).Draw(rt, "moving")
		to := names[rapid.IntRange(1, 2).Draw(rt, "to")]
		pods[to], pods[names[0]] = append(slices.Clone(pods[names[0]][:n]), pods[to]...), pods[names[0]][n:]
		if rapid.Bool().Draw(rt, "empty goes") && n == 4 {
			delete(pods, names[0])
		}
		decided := project.Decide(podView(t, pods, st))
		for _, step := range decided.Steps {
			st.carryOut(t, project.Decision{Steps: []project.Step{step}})
			seen := map[string]bool{}
			for _, slice := range st.stands {
				for _, e := range slice.Endpoints {
					seen[e.Addresses[0]] = true
				}
			}
			if len(seen) != 7 {
				rt.Fatalf("after %s there are %d of 7 pods", step.String(), len(seen))
			}
		}
	})
}

func podView(t testing.TB, pods map[string][]int, st *stage) project.View {
	v := project.View{Keys: keys(t), Channel: types.NamespacedName{Namespace: "app", Name: "web"}, ClaimsKnown: true,
		Mux:    project.Mux{Key: types.NamespacedName{Namespace: "svc-mux", Name: "mux"}, UID: "1", IsMux: true},
		Claims: []plan.Claim{{Owner: plan.PortID{Name: "http", Protocol: "TCP"}, MuxName: "1f0c5fd25a8f8ad2a2cb"}}}
	name, port := "http", int32(80)
	for source, list := range pods {
		slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: source},
			AddressType: "IPv4",
			Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}}}
		for _, pod := range list {
			slice.Endpoints = append(slice.Endpoints,
				discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.%d.%d", pod/250, pod%250)}})
		}
		v.Sources = append(v.Sources, slice)
	}
	for _, slice := range st.stands {
		v.Carried = append(v.Carried, slice)
	}
	return v
}

func TestTwelveHundredEndpointsAreTwoSlices(t *testing.T) {
	pods := map[string][]int{}
	for i := range 1200 {
		source := fmt.Sprintf("web-%d", i/1000)
		pods[source] = append(pods[source], i)
	}
	st := &stage{stands: map[string]*discoveryv1.EndpointSlice{}}
	decided := project.Decide(podView(t, pods, st))
	if len(decided.Steps) != 2 || decided.Carried != 1200 {
		t.Fatal(decided.String())
	}
	st.carryOut(t, decided)
	pods["web-0"] = pods["web-0"][1:]
	decided = project.Decide(podView(t, pods, st))
	if len(decided.Steps) != 1 || decided.Steps[0].Why[0] != "10.0.0.0 left" {
		t.Errorf("a pod goes: %s", decided.String())
	}
}
