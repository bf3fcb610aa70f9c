package backends

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

func TestSlicesThatWakeTheirChannel(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *sweeper, slice *discoveryv1.EndpointSlice)
		want   bool
	}{
		"a carried slice": {func(*sweeper, *discoveryv1.EndpointSlice) {}, true},
		"a carried slice without an owner": {func(_ *sweeper, s *discoveryv1.EndpointSlice) { s.OwnerReferences = nil },
			false},
		"a carried slice of another namespace": {
			func(_ *sweeper, s *discoveryv1.EndpointSlice) { s.Namespace = "attacker" }, false},
		"a carried slice that names no channel": {
			func(l *sweeper, s *discoveryv1.EndpointSlice) { delete(s.Labels, l.keys.ChannelName) }, false},
		"a carried slice that names a ClusterIP": {
			func(l *sweeper, s *discoveryv1.EndpointSlice) { s.Labels[l.keys.ChannelName] = "other" }, false},
		"a source": {func(_ *sweeper, s *discoveryv1.EndpointSlice) {
			*s = discoveryv1.EndpointSlice{ObjectMeta: objectMeta("app", "web-1")}
			s.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
		}, true},
		"a slice of no channel": {func(_ *sweeper, s *discoveryv1.EndpointSlice) {
			*s = discoveryv1.EndpointSlice{ObjectMeta: objectMeta("app", "web-1")}
			s.Labels = map[string]string{discoveryv1.LabelServiceName: "other"}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, c, slice := swept(t)
			c.set(t, &corev1.Service{ObjectMeta: objectMeta("app", "other")})
			slice = slice.DeepCopy()
			test.change(s, slice)
			q := newRecorder()
			s.line.onSlice().Create(t.Context(), event.CreateEvent{Object: slice}, q)
			if _, is := q.added["app/web"]; is != test.want || len(q.added) > 1 {
				t.Errorf("woken: %v", q.added)
			}
		})
	}
}

// TestAnUpdateWakesTheChannelOfTheOldLabels: another writer gave the slice to another channel.
func TestAnUpdateWakesTheChannelOfTheOldLabels(t *testing.T) {
	s, _, slice := swept(t)
	changed, q := slice.DeepCopy(), newRecorder()
	changed.Labels[s.keys.ChannelName] = "other"
	s.line.onSlice().Update(t.Context(), event.UpdateEvent{ObjectOld: slice, ObjectNew: changed}, q)
	if _, is := q.added["app/web"]; !is {
		t.Errorf("woken: %v", q.added)
	}
}

func TestServicesThatWakeChannels(t *testing.T) {
	s, c, _ := swept(t)
	web, mux := c.service(t, "app/web"), c.service(t, "svc-mux/mux")
	edit := func(svc *corev1.Service, change func(*corev1.Service)) *corev1.Service {
		svc = svc.DeepCopy()
		change(svc)
		return svc
	}
	for name, test := range map[string]struct {
		old, now *corev1.Service
		want     bool
	}{
		"a channel comes": {nil, web, true},
		"a channel's status changes": {web, edit(web, func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} }),
			false},
		"a channel's ports change": {web,
			edit(web, func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Name: "a"}} }), true},
		"a channel changes its mux": {web,
			edit(web, func(s *corev1.Service) { s.Spec.LoadBalancerClass = new(*web.Spec.LoadBalancerClass + "2") }), true},
		"a channel goes":            {web, nil, true},
		"a Service becomes channel": {edit(web, func(s *corev1.Service) { s.Spec.LoadBalancerClass = nil }), web, true},
		"a channel becomes Service": {web, edit(web, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }),
			true},
		"a Service that is nothing": {nil, &corev1.Service{ObjectMeta: objectMeta("app", "web")}, false},
		"a mux comes":               {nil, mux, true},
		"a mux goes":                {mux, nil, true},
		"a mux is deleted":          {mux, edit(mux, func(s *corev1.Service) { s.DeletionTimestamp = &timestamp }), true},
		"a mux gets another family": {mux,
			edit(mux, func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{"IPv6"} }), true},
		"a mux is recreated":       {mux, edit(mux, func(s *corev1.Service) { s.UID = "new" }), true},
		"a mux is no mux any more": {mux, edit(mux, func(s *corev1.Service) { s.Annotations = nil }), true},
		"a mux changes its type": {mux, edit(mux, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }),
			true},
		"a mux's ports change": {mux,
			edit(mux, func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Name: "a"}} }), false},
		"a mux's annotations change": {mux, edit(mux, func(s *corev1.Service) { s.Annotations["note"] = "a" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			q := newRecorder()
			s.line.onService(t.Context(), q, test.old, test.now)
			if _, is := q.added["app/web"]; is != test.want {
				t.Errorf("woken: %v", q.added)
			}
		})
	}
}

func TestSeriesBeginAndEndWithTheMux(t *testing.T) {
	s, c, _ := swept(t)
	mux := c.service(t, "svc-mux/mux")
	other := mux.DeepCopy()
	other.Annotations = nil
	if s.line.onService(t.Context(), newRecorder(), nil, mux); len(seriesOf(t, s.Metrics)) == 0 {
		t.Fatal("a mux has no series")
	}
	if s.line.onService(t.Context(), newRecorder(), mux, other); len(seriesOf(t, s.Metrics)) != 0 {
		t.Error("series are left")
	}
}

func TestMuxesThatWakeTheirEndpoints(t *testing.T) {
	s, c, _ := swept(t)
	for key, want := range map[string]int{"svc-mux/mux": 1, "app/web": 0} {
		q := newRecorder()
		if s.onMuxes().Create(t.Context(), event.CreateEvent{Object: c.service(t, key)}, q); len(q.added) != want {
			t.Errorf("%s wakes %v", key, q.added)
		}
	}
}

func TestWaker(t *testing.T) {
	w, q, web := &Waker{}, newRecorder(), types.NamespacedName{Namespace: "app", Name: "web"}
	w.Wake([]types.NamespacedName{web})
	if err := w.source().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if w.Wake([]types.NamespacedName{web}); len(q.added) != 1 {
		t.Errorf("woken: %v", q.added)
	}
}

// TestAPassLooksAgain while claims aren't known, while an own write isn't in the cache, and after a write.
func TestAPassLooksAgain(t *testing.T) {
	s, c, slice := swept(t)
	web := request(types.NamespacedName{Namespace: "app", Name: "web"})
	again := func(want time.Duration) {
		t.Helper()
		if result, err := s.line.Reconcile(t.Context(), web); err != nil || result.RequeueAfter != want {
			t.Errorf("again after %s, not %s: %v", result.RequeueAfter, want, err)
		}
	}
	again(0)
	newer := slice.DeepCopy()
	newer.ResourceVersion = "8"
	s.written.Put(newer)
	again(patience)
	known := false
	claims := s.Claims
	s.line.Claims = func(channel, mux types.NamespacedName) (all []plan.Claim, is bool) {
		all, _ = claims(channel, mux)
		return all, known
	}
	again(undecided)
	known = true
	c.remove(t, c.service(t, "svc-mux/mux"))
	again(0)
	s.written.Forget(client.ObjectKeyFromObject(slice))
	c.remove(t, c.service(t, "app/web"))
	again(0)
}

func TestSooner(t *testing.T) {
	for _, test := range [][3]time.Duration{{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 2, 1}, {2, 1, 1}} {
		if got := sooner(test[0], test[1]); got != test[2] {
			t.Errorf("%v: %s", test, got)
		}
	}
}
