package backends

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

var (
	reported = types.NamespacedName{Namespace: "app", Name: "web"}
	edge     = types.NamespacedName{Namespace: "svc-mux", Name: "edge"}
)

// saw returns the observation of a channel: ready says that it has a ready endpoint, carried that the mux has it.
func saw(ready, carried bool) *observation {
	slice := &discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}},
	}
	o := &observation{isAttached: true, View: project.View{
		Channel: reported, Mux: project.Mux{Key: edge, UID: "1", IsMux: true}, Ports: []corev1.ServicePort{{Name: "http"}},
	}}
	if ready {
		o.Sources = []*discoveryv1.EndpointSlice{slice}
	}
	if carried {
		o.Carried = []*discoveryv1.EndpointSlice{slice}
	}
	return o
}

func TestReportsTellOfChangesOnly(t *testing.T) {
	var r Reports
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	r.set(saw(true, true), nil, wordsOfSlices{a: "before anybody listens"}, time.Now())
	changes := 0
	r.Changed = func(m types.NamespacedName) {
		if changes++; m != edge {
			t.Errorf("told of %s", m)
		}
	}
	for i, test := range []struct {
		seen    *observation
		refused wordsOfSlices
		is      plan.Backing
		why     string
		changes int
	}{
		{saw(true, true), wordsOfSlices{b: "b", a: "a"}, plan.Backed, "a", 1},
		{saw(true, true), wordsOfSlices{a: "a"}, plan.Backed, "a", 1},
		{saw(true, true), wordsOfSlices{b: "b"}, plan.Backed, "b", 2},
		{saw(true, true), nil, plan.Backed, "", 3},
		{saw(true, true), wordsOfSlices{}, plan.Backed, "", 3},
		{saw(false, false), nil, plan.Unbacked, "", 4},
		{saw(false, false), nil, plan.Unbacked, "", 4},
	} {
		r.set(test.seen, nil, test.refused, time.Now())
		if is, why := r.Of(reported, "1"); is != test.is || why != test.why || changes != test.changes {
			t.Errorf("%d: %d, %q after %d changes", i, is, why, changes)
		}
	}
}

// TestReportsAreAboutOneMux: after a mux was deleted and created again, nothing is known.
func TestReportsAreAboutOneMux(t *testing.T) {
	var r Reports
	r.set(saw(true, true), nil, wordsOfSlices{edge: "refused"}, time.Now())
	if is, why := r.Of(reported, "2"); is != plan.Unknown || why != "" {
		t.Errorf("of another mux: %d, %q", is, why)
	}
	seen := saw(true, true)
	seen.Mux.IsMux = false
	r.set(seen, nil, nil, time.Now())
	if is, _ := r.Of(reported, "1"); is != plan.Unknown {
		t.Errorf("the Service is no mux any more: %d", is)
	}
	seen.isAttached = false
	if r.set(seen, nil, nil, time.Now()); len(r.channels) != 0 {
		t.Errorf("left of a channel that is gone: %v", r.channels)
	}
}

// TestMissingBackendsCountAfterAPause: a slice that is deleted and written again changes no condition.
func TestMissingBackendsCountAfterAPause(t *testing.T) {
	var r Reports
	now := time.Unix(1_000_000, 0)
	for _, step := range []struct {
		after          time.Duration
		ready, carried bool
		want           plan.Backing
		again          time.Duration
	}{
		{0, true, true, plan.Backed, 0},
		{time.Second, true, false, plan.Unknown, uncarriedPause},
		{time.Second, true, true, plan.Backed, 0},
		{time.Second, true, false, plan.Unknown, uncarriedPause},
		{uncarriedPause - 1, true, false, plan.Unknown, 1},
		{1, true, false, plan.NotCarried, 0},
		{-time.Hour, true, false, plan.Unknown, uncarriedPause},
		{uncarriedPause, true, false, plan.NotCarried, 0},
		{time.Second, false, false, plan.Unbacked, 0},
	} {
		now = now.Add(step.after)
		again := r.set(saw(step.ready, step.carried), nil, nil, now)
		if is, _ := r.Of(reported, "1"); is != step.want || again != step.again {
			t.Errorf("after %s: %d, again after %s; want %d, %s", step.after, is, again, step.want, step.again)
		}
	}
}
