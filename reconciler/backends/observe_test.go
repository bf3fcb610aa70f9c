package backends

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestObservation changes a carried slice, its channel or its mux, and observes.
func TestObservation(t *testing.T) {
	for name, test := range map[string]struct {
		change         func(t *testing.T, s *sweeper, c *indexed, slice *discoveryv1.EndpointSlice)
		carried, taken int
		isMux          bool
	}{
		"a carried slice": {func(*testing.T, *sweeper, *indexed, *discoveryv1.EndpointSlice) {}, 1, 0, true},
		"its labels are gone": {func(_ *testing.T, _ *sweeper, _ *indexed, slice *discoveryv1.EndpointSlice) {
			slice.Labels = nil
		}, 1, 0, true},
		"its owner is gone": {func(_ *testing.T, _ *sweeper, _ *indexed, slice *discoveryv1.EndpointSlice) {
			slice.OwnerReferences = nil
		}, 1, 0, true},
		"its source is gone": {func(t *testing.T, _ *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			c.remove(t, &discoveryv1.EndpointSlice{ObjectMeta: objectMeta("app", "web-1")})
		}, 1, 0, true},
		"it is a copy": {func(_ *testing.T, _ *sweeper, _ *indexed, slice *discoveryv1.EndpointSlice) {
			slice.Name = "copy"
		}, 0, 0, true},
		"it is foreign": {func(_ *testing.T, _ *sweeper, _ *indexed, slice *discoveryv1.EndpointSlice) {
			slice.Labels, slice.Annotations = nil, nil
		}, 0, 1, true},
		"it was deleted, and the cache is stale": {func(_ *testing.T, s *sweeper, _ *indexed,
			slice *discoveryv1.EndpointSlice) {
			s.written.Delete(slice)
		}, 0, 0, true},
		"the mux is no mux any more": {func(t *testing.T, _ *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			mux := c.service(t, "svc-mux/mux")
			mux.Annotations = nil
			c.set(t, mux)
		}, 1, 0, false},
		"the mux has another type": {func(t *testing.T, _ *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			mux := c.service(t, "svc-mux/mux")
			mux.Spec.Type = corev1.ServiceTypeClusterIP
			c.set(t, mux)
		}, 1, 0, false},
		"the mux is gone": {func(t *testing.T, _ *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			c.remove(t, c.service(t, "svc-mux/mux"))
		}, 0, 0, false},
		"the channel is gone": {func(t *testing.T, _ *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			c.remove(t, c.service(t, "app/web"))
		}, 0, 0, false},
		"the channel is another reconciler's": {func(_ *testing.T, s *sweeper, _ *indexed, _ *discoveryv1.EndpointSlice) {
			s.LooksAfter = func(types.NamespacedName) bool { return false }
		}, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, c, slice := swept(t)
			c.remove(t, slice)
			slice = slice.DeepCopy()
			test.change(t, s, c, slice)
			c.set(t, slice)
			seen, err := s.observe(t.Context(), types.NamespacedName{Namespace: "app", Name: "web"})
			if err != nil || len(seen.Carried) != test.carried || len(seen.Taken) != test.taken || seen.Mux.IsMux != test.isMux {
				t.Errorf("%d carried, %d taken, a mux: %t, %v", len(seen.Carried), len(seen.Taken), seen.Mux.IsMux, err)
			}
		})
	}
}

func TestOptionsAreCompleted(t *testing.T) {
	if err := (&Options{}).complete(); err == nil {
		t.Error("nothing is given, and that is no error")
	}
	s, _, _ := swept(t)
	for name, miss := range map[string]func(*Options){
		"nothing": func(*Options) {},
		"Claims":  func(o *Options) { o.Claims = nil },
		"Waker":   func(o *Options) { o.Waker = nil },
		"Writer":  func(o *Options) { o.Writer = nil },
		"Live":    func(o *Options) { o.Live = nil },
		"Tell":    func(o *Options) { o.Tell = nil },
	} {
		o := Options{Claims: s.Claims, Waker: &Waker{}, Writer: s.Writer, Live: s.cache, Tell: start(t).Tell}
		miss(&o)
		if err := o.complete(); (err == nil) != (name == "nothing") {
			t.Errorf("without %s: %v", name, err)
		}
		if o.Concurrency != DefaultConcurrency || o.Now == nil || o.Metrics == nil || o.Reports == nil ||
			!o.LooksAfter(types.NamespacedName{}) {
			t.Errorf("without %s: %+v", name, o)
		}
	}
}
