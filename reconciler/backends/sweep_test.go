package backends

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/controllers"
	"nowake.ai/svc-lb-mux/reconciler/pace"
)

// deleter records deletions and answers each with its error.
type deleter struct {
	client.Client
	err     error
	deleted []string
}

func (d *deleter) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(options)
	d.deleted = append(d.deleted, object.GetNamespace()+"/"+object.GetName())
	if o.Preconditions == nil || o.Preconditions.UID == nil || o.Preconditions.ResourceVersion == nil {
		return errors.New("a deletion without preconditions")
	}
	return d.err
}

// recorder is a queue that records requests and their delays.
type recorder struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	added map[string]time.Duration
}

func (r *recorder) Add(req reconcile.Request) { r.added[req.String()] = 0 }
func (r *recorder) AddAfter(req reconcile.Request, delay time.Duration) {
	r.added[req.String()] = delay
}

var timestamp = metav1.Time{Time: time.Unix(1, 0)}

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func newRecorder() *recorder { return &recorder{added: map[string]time.Duration{}} }

// swept returns a line whose channel has a carried slice on its mux, and that slice.
func swept(t *testing.T) (*sweeper, *indexed, *discoveryv1.EndpointSlice) {
	t.Helper()
	l, c := victim(t, 0)
	l.Writer = &deleter{}
	slice := pass(t, l).Steps[0].Slice.DeepCopy()
	slice.UID, slice.ResourceVersion = "slice-uid", "7"
	if err := c.slices.Add(slice); err != nil {
		t.Fatal(err)
	}
	return &sweeper{l}, c, slice
}

func (c *indexed) service(t *testing.T, key string) *corev1.Service {
	t.Helper()
	found, there, err := c.services.GetByKey(key)
	if err != nil || !there {
		t.Fatalf("no Service %s, %v", key, err)
	}
	return found.(*corev1.Service).DeepCopy()
}

// set replaces or adds objects.
func (c *indexed) set(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.of(object).Update(object); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *indexed) remove(t *testing.T, object client.Object) {
	t.Helper()
	if err := c.of(object).Delete(object); err != nil {
		t.Fatal(err)
	}
}

func TestSweeperDeletesStraySlices(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, s *sweeper, c *indexed, slice *discoveryv1.EndpointSlice)
		want   bool
	}{
		"a slice that a pass sees": {func(*testing.T, *sweeper, *indexed, *discoveryv1.EndpointSlice) {}, false},
		"its source is gone, and its pass deletes it": {func(t *testing.T, _ *sweeper, c *indexed,
			_ *discoveryv1.EndpointSlice) {
			c.remove(t, &discoveryv1.EndpointSlice{ObjectMeta: objectMeta("app", "web-1")})
		}, false},
		"its channel is gone": {func(t *testing.T, _ *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			c.remove(t, c.service(t, "app/web"))
		}, true},
		"its channel is no channel": {func(t *testing.T, _ *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			svc := c.service(t, "app/web")
			svc.Spec.LoadBalancerClass = nil
			c.set(t, svc)
		}, true},
		"its channel is on another mux": {func(t *testing.T, _ *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			svc := c.service(t, "app/web")
			svc.Spec.LoadBalancerClass = new(*svc.Spec.LoadBalancerClass + "2")
			c.set(t, svc)
		}, true},
		"its channel is gone, and its mux is no mux any more": {func(t *testing.T, _ *sweeper, c *indexed,
			_ *discoveryv1.EndpointSlice) {
			svc := c.service(t, "svc-mux/mux")
			svc.Annotations = nil
			c.set(t, svc)
			c.remove(t, c.service(t, "app/web"))
		}, true},
		"the same, and the Service doesn't own it": {func(t *testing.T, _ *sweeper, c *indexed,
			slice *discoveryv1.EndpointSlice) {
			svc := c.service(t, "svc-mux/mux")
			svc.Annotations = nil
			c.set(t, svc)
			c.remove(t, c.service(t, "app/web"))
			slice.OwnerReferences = nil
		}, false},
		"its mux is gone": {func(t *testing.T, _ *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			c.remove(t, c.service(t, "svc-mux/mux"))
			c.remove(t, c.service(t, "app/web"))
		}, false},
		"its mux is being deleted": {func(t *testing.T, _ *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			svc := c.service(t, "svc-mux/mux")
			svc.DeletionTimestamp = &timestamp
			c.set(t, svc)
			c.remove(t, c.service(t, "app/web"))
		}, false},
		"its mux is another reconciler's": {func(t *testing.T, s *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			s.LooksAfter = func(types.NamespacedName) bool { return false }
			c.remove(t, c.service(t, "app/web"))
		}, false},
		"a copy": {func(_ *testing.T, _ *sweeper, _ *indexed, slice *discoveryv1.EndpointSlice) {
			slice.Name = "copy"
		}, true},
		"a copy that names no channel": {func(_ *testing.T, s *sweeper, _ *indexed, slice *discoveryv1.EndpointSlice) {
			slice.Name = "copy"
			delete(slice.Labels, s.keys.ChannelName)
		}, false},
		"a slice without an owner that a pass takes over": {func(_ *testing.T, _ *sweeper, _ *indexed,
			slice *discoveryv1.EndpointSlice) {
			slice.OwnerReferences = nil
		}, false},
		"a slice without an owner that no source needs": {func(t *testing.T, _ *sweeper, c *indexed,
			slice *discoveryv1.EndpointSlice) {
			c.remove(t, &discoveryv1.EndpointSlice{ObjectMeta: objectMeta("app", "web-1")})
			slice.OwnerReferences = nil
		}, true},
		"a slice of an earlier mux that no source needs": {func(t *testing.T, _ *sweeper, c *indexed,
			slice *discoveryv1.EndpointSlice) {
			c.remove(t, &discoveryv1.EndpointSlice{ObjectMeta: objectMeta("app", "web-1")})
			slice.OwnerReferences[0].UID = "earlier"
		}, true},
		"a dry run": {func(t *testing.T, s *sweeper, c *indexed, _ *discoveryv1.EndpointSlice) {
			s.Print = func(*project.Decision) {}
			c.remove(t, c.service(t, "app/web"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, c, slice := swept(t)
			writer := s.Writer.(*deleter)
			c.remove(t, slice)
			slice = slice.DeepCopy()
			test.change(t, s, c, slice)
			c.set(t, slice)
			result, err := s.Reconcile(t.Context(), request(client.ObjectKeyFromObject(slice)))
			if err != nil || result != (reconcile.Result{}) {
				t.Errorf("%v, %v", result, err)
			}
			if got := len(writer.deleted) == 1; got != test.want {
				t.Errorf("deleted: %q", writer.deleted)
			}
		})
	}
}

// TestSweepIsRepeatedAfterAConflict gets a conflict for a slice that has not changed: no event wakes the sweeper again.
func TestSweepIsRepeatedAfterAConflict(t *testing.T) {
	s, c, slice := swept(t)
	writer := s.Writer.(*deleter)
	c.remove(t, c.service(t, "app/web"))
	writer.err = apierrors.NewConflict(schema.GroupResource{Resource: "endpointslices"}, slice.Name,
		errors.New("try again"))
	result, err := s.Reconcile(t.Context(), request(client.ObjectKeyFromObject(slice)))
	if err != nil || result.RequeueAfter != sweepRetry {
		t.Errorf("the next sweep is in %s, not in %s: %v", result.RequeueAfter, sweepRetry, err)
	}
	writer.err = errors.New("the connection was lost")
	if _, err := s.Reconcile(t.Context(), request(client.ObjectKeyFromObject(slice))); !errors.Is(err, writer.err) {
		t.Errorf("the error is %v", err)
	}
}

// slowDeleter takes a moment for each deletion, refuses that of one slice, and records the most deletions at once.
type slowDeleter struct {
	client.Client
	mu           sync.Mutex
	now, most    int // deletions in flight
	refused      string
	tries        map[string]int
	untried      int
	gone         int
	whenAllTried func()
}

func (d *slowDeleter) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	d.mu.Lock()
	d.now++
	d.most = max(d.most, d.now)
	d.mu.Unlock()
	time.Sleep(time.Millisecond)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now--
	if d.tries[object.GetName()]++; d.tries[object.GetName()] == 1 {
		if d.untried--; d.untried == 0 {
			d.whenAllTried()
		}
	}
	if object.GetName() == d.refused {
		return errors.New("a policy refuses it")
	}
	d.gone++
	return nil
}

// TestStraySlicesAreDeletedOneAtATime: a channel leaves its mux, which has 200 copies of its slice. The sweeper deletes
// one after the other. A refused deletion doesn't hold up the others.
func TestStraySlicesAreDeletedOneAtATime(t *testing.T) {
	const copies = 200
	s, c, slice := swept(t)
	web := c.service(t, "app/web")
	c.remove(t, web)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	writer := &slowDeleter{refused: "copy-0", tries: map[string]int{}, untried: copies + 1, whenAllTried: stop}
	s.Writer = writer
	for i := range copies {
		stray := slice.DeepCopy()
		stray.Name = fmt.Sprintf("copy-%d", i)
		c.set(t, stray)
	}

	sweep, err := controller.NewUnmanaged("sweep", controller.Options{
		Reconciler: s, RateLimiter: controllers.Retries(), MaxConcurrentReconciles: sweptAtOnce,
		SkipNameValidation: new(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	err = sweep.Watch(source.Func(func(ctx context.Context,
		q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s.onService(ctx, q, web, nil)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := sweep.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if writer.most != 1 {
		t.Errorf("%d slices were deleted at once, want 1", writer.most)
	}
	if writer.untried != 0 || writer.gone != copies {
		t.Errorf("%d of %d strays are left, and %d weren't tried", copies+1-writer.gone, copies+1, writer.untried)
	}
}

// TestASweepDeletesNoOtherSlice: each pass of the sweeper deletes its own slice only, however many are stray.
func TestASweepDeletesNoOtherSlice(t *testing.T) {
	s, c, slice := swept(t)
	c.remove(t, c.service(t, "app/web"))
	other := slice.DeepCopy()
	other.Name = "copy"
	c.set(t, other)
	for _, stray := range []*discoveryv1.EndpointSlice{slice, other} {
		writer := &deleter{}
		s.Writer = writer
		if _, err := s.Reconcile(t.Context(), request(client.ObjectKeyFromObject(stray))); err != nil {
			t.Fatal(err)
		}
		if want := []string{client.ObjectKeyFromObject(stray).String()}; !slices.Equal(writer.deleted, want) {
			t.Errorf("deleted: %q, want %q", writer.deleted, want)
		}
	}
}

// TestASweptSliceMayComeBack: the channel returns to its mux. Its slice is written as it was, and that is no drift.
func TestASweptSliceMayComeBack(t *testing.T) {
	s, c, slice := swept(t)
	key := client.ObjectKeyFromObject(slice)
	for _, is := range []string{"deleted by the sweeper", "deleted by another writer"} {
		if turn := s.pace.Ask(key, 1, s.Now()); turn.Drift {
			t.Errorf("%s: drift", is)
		}
		web := c.service(t, "app/web")
		c.remove(t, web)
		if _, err := s.Reconcile(t.Context(), request(key)); err != nil {
			t.Fatal(err)
		}
		c.set(t, web)
		c.remove(t, slice)
	}
}

func TestEventsThatWakeTheSweeper(t *testing.T) {
	s, c, slice := swept(t)
	web, mux := c.service(t, "app/web"), c.service(t, "svc-mux/mux")
	name := client.ObjectKeyFromObject(slice).String()
	copied, foreign := slice.DeepCopy(), slice.DeepCopy()
	copied.Name, foreign.Name = "copy", "foreign"
	foreign.Labels, foreign.Annotations = nil, nil
	for what, test := range map[string]struct {
		event any
		want  map[string]time.Duration
	}{
		"a slice that a pass sees": {[2]*discoveryv1.EndpointSlice{nil, slice}, nil},
		"a copy": {[2]*discoveryv1.EndpointSlice{nil, copied},
			map[string]time.Duration{"svc-mux/copy": sweepDelay}},
		"a slice becomes a copy": {[2]*discoveryv1.EndpointSlice{slice, copied},
			map[string]time.Duration{"svc-mux/copy": sweepDelay}},
		"a slice is gone":         {[2]*discoveryv1.EndpointSlice{slice, nil}, map[string]time.Duration{name: pace.Calm}},
		"a foreign slice is gone": {[2]*discoveryv1.EndpointSlice{foreign, nil}, nil},
		"a channel comes":         {[2]*corev1.Service{nil, web}, nil},
		"a channel changes":       {[2]*corev1.Service{web, web}, nil},
		"a channel leaves": {[2]*corev1.Service{web, {ObjectMeta: web.ObjectMeta}},
			map[string]time.Duration{name: 0}},
		"a channel is gone": {[2]*corev1.Service{web, nil}, map[string]time.Duration{name: 0}},
		"a mux comes":       {[2]*corev1.Service{nil, mux}, map[string]time.Duration{"svc-mux/copy": sweepDelay}},
		"a mux changes":     {[2]*corev1.Service{mux, mux}, nil},
		"a mux is gone":     {[2]*corev1.Service{mux, nil}, nil},
		"no mux comes":      {[2]*corev1.Service{nil, {ObjectMeta: mux.ObjectMeta}}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			q := newRecorder()
			switch e := test.event.(type) {
			case [2]*discoveryv1.EndpointSlice:
				s.onSlice(t.Context(), q, e[0], e[1])
			case [2]*corev1.Service:
				c.set(t, copied)
				defer c.remove(t, copied)
				for _, svc := range e { // the cache has the new state
					if svc != nil {
						defer c.set(t, c.service(t, client.ObjectKeyFromObject(svc).String()))
						c.set(t, svc)
					}
				}
				if e[1] == nil {
					c.remove(t, e[0])
				}
				s.onService(t.Context(), q, e[0], e[1])
			}
			delete(q.added, map[bool]string{true: "svc-mux/copy"}[strings.HasPrefix(what, "a channel")])
			if diff := gocmp.Diff(test.want, q.added, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
