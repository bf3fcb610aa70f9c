package services

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// countingReader counts live reads.
type countingReader struct {
	*drainServer
	reads int
	fails error
}

func (c *countingReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object,
	options ...client.GetOption) error {
	c.reads++
	if c.fails != nil {
		return c.fails
	}
	return c.drainServer.Get(ctx, key, obj, options...)
}

// TestLiveReadsEndOnceTheCacheShowsTheWrite: the event of the write may have come before the response to the write.
func TestLiveReadsEndOnceTheCacheShowsTheWrite(t *testing.T) {
	for name, test := range map[string]struct {
		written, live, cached string
		reads                 int // in ten minutes
	}{
		"the cache is up to date":               {"12", "12", "12", 1},
		"another writer changed it":             {"12", "14", "14", 1},
		"the cache is newer than the live read": {"12", "14", "15", 1},
		"the cache is behind another writer":    {"12", "14", "13", 9},
		"the cache is behind":                   {"12", "12", "11", 9},
	} {
		t.Run(name, func(t *testing.T) {
			live := &countingReader{drainServer: &drainServer{language: languageOf(t),
				services: map[string]*corev1.Service{"mux": service(test.live)}}}
			cache := &drainServer{language: live.language, services: map[string]*corev1.Service{"mux": service(test.cached)}}
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			line := New(Options{Language: live.language, Cache: freshCache{cache}, Live: live, Now: func() time.Time {
				return now
			}})
			line.services.Put(service(test.written))
			for range 10 {
				now = now.Add(time.Minute)
				if _, err := line.catchUp(t.Context()); err != nil {
					t.Fatal(err)
				}
				now = now.Add(time.Second)
			}
			if live.reads != test.reads {
				t.Errorf("%d live reads, want %d", live.reads, test.reads)
			}
			if known := line.services.Due().IsZero(); known != (test.reads == 1) {
				t.Errorf("the write is known to be shown: %t", known)
			}
		})
	}
}

// TestAPassFirstReadsWhatTheCacheShouldShow: a pass decides nothing while the cache is behind a write of long ago.
func TestAPassFirstReadsWhatTheCacheShouldShow(t *testing.T) {
	live := &countingReader{drainServer: &drainServer{language: languageOf(t),
		services: map[string]*corev1.Service{"mux": service("12")}}}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	line := New(Options{Language: live.language, Cache: freshCache{live.drainServer}, Live: live, Now: func() time.Time {
		return now
	}})
	line.services.Put(service("12"))
	now = now.Add(2 * patience)
	result, err := line.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(service(""))})
	if err != nil || result.RequeueAfter != leastPause || live.reads != 1 {
		t.Errorf("%d live reads, and another pass after %s; %v", live.reads, result.RequeueAfter, err)
	}
}

// TestANewChannelWithoutEndpointsHasNoBackends although the backends line hasn't seen it yet: one write of its status
// tells its owner everything.
func TestANewChannelWithoutEndpointsHasNoBackends(t *testing.T) {
	ready := &discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}},
	}
	for name, test := range map[string]struct {
		reported plan.Backing
		told     bool
		sources  []*discoveryv1.EndpointSlice
		failed   error
		want     plan.Backing
	}{
		"no endpoint":                {want: plan.Unbacked},
		"a ready endpoint":           {sources: []*discoveryv1.EndpointSlice{ready}, want: plan.Unknown},
		"told something before":      {told: true, want: plan.Unknown},
		"reported":                   {reported: plan.NotCarried, want: plan.NotCarried},
		"its endpoints aren't known": {failed: errors.New("no cache"), want: plan.Unknown},
		"reported, with one endpoint": {reported: plan.Backed, sources: []*discoveryv1.EndpointSlice{ready},
			want: plan.Backed},
	} {
		t.Run(name, func(t *testing.T) {
			line := newLine(t, answering{})
			line.Backing = func(types.NamespacedName, types.UID) (plan.Backing, string) { return test.reported, "why" }
			line.Sources = func(context.Context, client.Reader, types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
				return test.sources, test.failed
			}
			channel := plan.ObservedChannel{}
			if test.told {
				channel.Conditions = []metav1.Condition{{Type: "Accepted"}}
			}
			o := &pass{Line: line, world: plan.World{Mux: &plan.ObservedMux{}}}
			o.addChannel(t.Context(), channel)
			if got := o.world.Channels[0]; got.Backends != test.want || got.RefusedSlices != "why" {
				t.Errorf("%d, %q; want %d", got.Backends, got.RefusedSlices, test.want)
			}
		})
	}
}

// TestTheConsoleSeesOwnWrites: a cache that is behind shows channels that are gone, and old states of others.
func TestTheConsoleSeesOwnWrites(t *testing.T) {
	old, gone := service("1"), service("1")
	gone.Name = "gone"
	line := newLine(t, answering{})
	line.Cache = listed{*old, *gone}
	line.services.Put(service("2"))
	line.services.Delete(gone)
	channels, err := (&cached{line: line, ctx: t.Context()}).Channels()
	if err != nil || len(channels) != 1 || channels[0].ResourceVersion != "2" {
		t.Errorf("channels %v, %v", channels, err)
	}
}

// listed is a cache with Services.
type listed []corev1.Service

func (listed) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("not asked for")
}

func (l listed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.ServiceList).Items = l
	return nil
}

// hangingCache is a cache whose watch hangs: it has nothing.
type hangingCache struct{ listed }

func (hangingCache) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
}

// TestAChannelThatTheCacheLacksIsKnown: a live read found it, and the watch hangs.
func TestAChannelThatTheCacheLacksIsKnown(t *testing.T) {
	line := newLine(t, answering{})
	line.Cache = hangingCache{}
	for name, class := range map[string]string{"web": "svc-mux.nowake.ai/mux.svc-mux",
		"other": "svc-mux.nowake.ai/spare.svc-mux"} {
		line.services.Put(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: "7"},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class},
		})
	}
	for mux, want := range map[types.NamespacedName]int{{Namespace: "svc-mux", Name: "mux"}: 1, noMux: 0} {
		o := &pass{Line: line, world: plan.World{Key: mux}, channels: map[types.NamespacedName]*corev1.Service{},
			memory: newMemory(budget.Limit{})}
		if err := o.observeChannels(t.Context()); err != nil || len(o.world.Channels) != want {
			t.Errorf("mux %q: channels %v, %v; want %d", mux, o.world.Channels, err, want)
		}
	}
}
