package backends

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
)

// desk is a mux with one channel whose slice is in place, an API server for Endpoints, and the legacy writer.
type desk struct {
	*legacy
	client.Writer
	cached, live *corev1.Endpoints //nolint:staticcheck // Endpoints are deprecated, and written on request
	asked        []string
	told         []plan.Event
	clock        time.Time
	err          error
	indexed      *indexed
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	s, c, _ := swept(t)
	d := &desk{clock: time.Unix(1_000_000, 0), indexed: c}
	s.Writer, s.Live, s.cache = d, liveDesk{d}, deskCache{c, d}
	s.Tell = func(e plan.Event) { d.told = append(d.told, e) }
	s.Now = func() time.Time { return d.clock }
	d.legacy = &legacy{s.line, pace.New[types.NamespacedName]()}
	return d
}

// deskCache has what the cache of Endpoints shows, beside the indexed objects.
type deskCache struct {
	*indexed
	desk *desk
}

func (c deskCache) Get(ctx context.Context, key client.ObjectKey, into client.Object,
	options ...client.GetOption) error {
	if endpoints, is := into.(*corev1.Endpoints); is { //nolint:staticcheck // as above
		return get(c.desk.cached, endpoints)
	}
	return c.indexed.Get(ctx, key, into, options...)
}

type liveDesk struct{ desk *desk }

func (l liveDesk) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	l.desk.asked = append(l.desk.asked, "get")
	return get(l.desk.live, into.(*corev1.Endpoints)) //nolint:staticcheck // as above
}

func (l liveDesk) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

//nolint:staticcheck // as above
func get(from, into *corev1.Endpoints) error {
	if from == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, "mux")
	}
	from.DeepCopyInto(into)
	return nil
}

func (d *desk) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	d.asked = append(d.asked, "create")
	if d.err == nil {
		d.live = object.(*corev1.Endpoints).DeepCopy() //nolint:staticcheck // as above
	}
	return d.err
}

func (d *desk) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	d.asked = append(d.asked, "patch")
	data, err := patch.Data(object)
	if err != nil || d.err != nil {
		return errors.Join(err, d.err)
	}
	d.live.Subsets, d.live.OwnerReferences = nil, nil // a merge patch replaces lists
	return json.Unmarshal(data, d.live)
}

// pass reconciles once, and compares the requests to the API server.
func (d *desk) pass(t *testing.T, after time.Duration, want ...string) {
	t.Helper()
	d.asked = nil
	result, err := d.Reconcile(t.Context(), request(types.NamespacedName{Namespace: "svc-mux", Name: "mux"}))
	if err != nil || result.RequeueAfter != after {
		t.Errorf("again after %s, not %s: %v", result.RequeueAfter, after, err)
	}
	if diff := cmp.Diff(want, d.asked); diff != "" {
		t.Errorf("(-want +asked for)\n%s", diff)
	}
}

// sync makes the cache show all writes.
func (d *desk) sync() { d.cached = d.live.DeepCopy() }

func TestLegacyEndpointsAreWrittenOnceAndReadBack(t *testing.T) {
	d := newDesk(t)
	d.pass(t, 0, "get", "create")
	if got := d.live.Subsets; len(got) != 1 || got[0].Ports[0].Name != "aaaa" || got[0].Addresses[0].IP != "10.0.0.1" {
		t.Errorf("subsets: %v", got)
	}
	if d.live.Labels[discoveryv1.LabelSkipMirror] != "true" || d.live.OwnerReferences[0].UID != "mux-uid" {
		t.Errorf("labels %v, owners %v", d.live.Labels, d.live.OwnerReferences)
	}
	d.pass(t, 0, "get") // the cache is stale
	d.sync()
	d.pass(t, 0)
	d.cached.Labels["team"], d.cached.Annotations["note"] = "a", "b"
	d.pass(t, 0) // what other writers add is no difference
}

//nolint:staticcheck // Endpoints are deprecated, and written on request
func TestLegacyEndpointsAreCorrected(t *testing.T) {
	for name, change := range map[string]func(*corev1.Endpoints){
		"subsets":     func(e *corev1.Endpoints) { e.Subsets = nil },
		"ready":       func(e *corev1.Endpoints) { e.Subsets[0].NotReadyAddresses = e.Subsets[0].Addresses },
		"a port":      func(e *corev1.Endpoints) { e.Subsets[0].Ports[0].Port = 1 },
		"labels":      func(e *corev1.Endpoints) { delete(e.Labels, "app.kubernetes.io/component") },
		"annotations": func(e *corev1.Endpoints) { e.Annotations = nil },
		"no owner":    func(e *corev1.Endpoints) { e.OwnerReferences = nil },
		"an owner":    func(e *corev1.Endpoints) { e.OwnerReferences[0].UID = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.pass(t, 0, "get", "create")
			change(d.live)
			d.sync()
			d.pass(t, 0, "get", "patch")
			if len(d.told) != 1 || d.told[0].Reason != plan.MuxDriftCorrected || !d.told[0].Warning {
				t.Errorf("told %+v", d.told)
			}
			change(d.live)
			d.sync()
			d.pass(t, time.Second, "get") // the second correction waits
			d.clock = d.clock.Add(time.Second)
			d.pass(t, 0, "get", "patch")
			d.sync()
			d.pass(t, 0)
			if len(d.told) != 1 {
				t.Errorf("told %d times", len(d.told))
			}
		})
	}
}

// TestAnAddressThatIsReadyAndNotReady is in two slices while a pod moves. The API server stores it as not ready.
//
//nolint:staticcheck // as above
func TestAnAddressThatIsReadyAndNotReady(t *testing.T) {
	one, other := corev1.EndpointAddress{IP: "10.0.0.1"}, corev1.EndpointAddress{IP: "10.0.0.2"}
	ports := []corev1.EndpointPort{{Name: "aaaa", Port: 80}}
	both := []corev1.EndpointSubset{{Ports: ports, Addresses: []corev1.EndpointAddress{one, other}},
		{Ports: ports, NotReadyAddresses: []corev1.EndpointAddress{one}},
		{Ports: ports, Addresses: []corev1.EndpointAddress{one}}}
	stored := []corev1.EndpointSubset{{Ports: ports, Addresses: []corev1.EndpointAddress{other},
		NotReadyAddresses: []corev1.EndpointAddress{one}}}
	if diff := cmp.Diff(readiness(stored), readiness(both)); diff != "" {
		t.Error(diff)
	}
	ready := []corev1.EndpointSubset{{Ports: ports, Addresses: []corev1.EndpointAddress{one, other}}}
	if cmp.Equal(readiness(ready), readiness(both)) {
		t.Error("ready and not ready are the same")
	}
}

func TestForeignEndpointsStay(t *testing.T) {
	d := newDesk(t)
	d.live = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux",
		Name: "mux"}} //nolint:staticcheck // as above
	d.pass(t, firstRetry, "get")
	d.pass(t, 2*firstRetry, "get")
}

func TestTheOriginalsEndpointsStayUntilOurSlicesStand(t *testing.T) {
	d := newDesk(t)
	d.live = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux", ResourceVersion: "7",
		//nolint:staticcheck // as above
		Labels: map[string]string{originalLabel: original}, Annotations: map[string]string{d.keys.Managed: "true"}}}
	slice := pass(t, d.line)
	if len(slice.Steps) != 0 {
		t.Fatal("the slice doesn't stand")
	}
	claims := d.Claims
	d.legacy.Claims = func(_, _ types.NamespacedName) ([]plan.Claim, bool) { return nil, false }
	d.pass(t, firstRetry, "get")
	d.legacy.Claims = claims
	d.pass(t, 0, "get", "patch")
	if d.live.Labels[discoveryv1.LabelSkipMirror] != "true" || len(d.live.Subsets) != 1 {
		t.Errorf("it is %v", d.live)
	}
}

func TestAFailedWriteOfEndpointsIsNoDrift(t *testing.T) {
	d := newDesk(t)
	d.err = apierrors.NewConflict(schema.GroupResource{Resource: "endpoints"}, "mux", errors.New("changed"))
	d.pass(t, firstRetry, "get", "create")
	d.err = errors.New("the connection was lost")
	if _,
		err := d.Reconcile(t.Context(), request(types.NamespacedName{Namespace: "svc-mux", Name: "mux"})); !errors.Is(err,
		d.err) {
		t.Errorf("the error is %v", err)
	}
	d.err = nil
	d.pass(t, 0, "get", "create")
	if len(d.told) != 0 {
		t.Errorf("told %+v", d.told)
	}
}

func TestEndpointsOfAServiceThatIsNoMux(t *testing.T) {
	for name, change := range map[string]func(*corev1.Service){
		"no mux":        func(svc *corev1.Service) { svc.Annotations = nil },
		"being deleted": func(svc *corev1.Service) { svc.DeletionTimestamp = &timestamp },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			mux := d.indexed.service(t, "svc-mux/mux")
			change(mux)
			d.indexed.set(t, mux)
			d.pass(t, 0)
			d.indexed.remove(t, mux)
			d.pass(t, 0)
		})
	}
}

func TestLegacyWritersMuxOfASlice(t *testing.T) {
	d := newDesk(t)
	ours := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux",
		Labels:      map[string]string{discoveryv1.LabelServiceName: "mux"},
		Annotations: map[string]string{d.keys.Managed: "true"}}}
	if got := d.muxOf(t.Context(), ours); len(got) != 1 || got[0].String() != "svc-mux/mux" {
		t.Errorf("wakes %v", got)
	}
	ours.Annotations = nil
	if got := d.muxOf(t.Context(), ours); len(got) != 0 {
		t.Errorf("a foreign slice wakes %v", got)
	}
}
