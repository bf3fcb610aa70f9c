package backends

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// indexed is a cache with the line's indexes. It counts the slices that it lists.
type indexed struct {
	client.Reader
	slices, services toolscache.Indexer
	looked           int
}

func newIndexed(tb testing.TB, language validation.Language) *indexed {
	tb.Helper()
	key := toolscache.DeletionHandlingMetaNamespaceKeyFunc
	c := &indexed{slices: toolscache.NewIndexer(key, toolscache.Indexers{}),
		services: toolscache.NewIndexer(key, toolscache.Indexers{})}
	if err := Index(tb.Context(), c, language); err != nil {
		tb.Fatal(err)
	}
	return c
}

func (c *indexed) of(object client.Object) toolscache.Indexer {
	if _, is := object.(*corev1.Service); is {
		return c.services
	}
	return c.slices
}

func (c *indexed) IndexField(_ context.Context, object client.Object, field string, of client.IndexerFunc) error {
	return c.of(object).AddIndexers(toolscache.Indexers{field: func(obj any) ([]string, error) {
		object := obj.(client.Object)
		var values []string
		for _, value := range of(object) {
			values = append(values, object.GetNamespace()+"|"+value, "|"+value)
		}
		return values, nil
	}})
}

func (c *indexed) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found, there, err := c.of(into).GetByKey(key.String())
	if err != nil || !there {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	switch into := into.(type) {
	case *corev1.Service:
		*into = *found.(*corev1.Service)
	case *discoveryv1.EndpointSlice:
		*into = *found.(*discoveryv1.EndpointSlice)
	}
	return nil
}

func (c *indexed) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	by := o.FieldSelector.Requirements()[0]
	if into, is := list.(*corev1.ServiceList); is {
		found, err := c.services.ByIndex(by.Field, o.Namespace+"|"+by.Value)
		for _, svc := range found {
			into.Items = append(into.Items, *svc.(*corev1.Service))
		}
		return err
	}
	into := list.(*discoveryv1.EndpointSliceList)
	found, err := c.slices.ByIndex(by.Field, o.Namespace+"|"+by.Value)
	for _, slice := range found {
		into.Items = append(into.Items, *slice.(*discoveryv1.EndpointSlice))
	}
	c.looked += len(found)
	return err
}

// victim is a line with one channel on one mux, and forged slices that have our labels and the channel's name: half of
// them in a namespace of their author's, half in the mux's.
func victim(tb testing.TB, forged int) (*line, *indexed) {
	tb.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		tb.Fatal(err)
	}
	c, keys := newIndexed(tb, language), language.Keys()
	class := validation.DefaultPrefix + "/mux"
	mux, channel := types.NamespacedName{Namespace: "svc-mux", Name: "mux"},
		types.NamespacedName{Namespace: "app", Name: "web"}
	name, number := "http", int32(8080)
	objects := []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: mux.Namespace, Name: mux.Name, UID: "mux-uid",
			Annotations: map[string]string{keys.Multiplexer: "true"}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: channel.Namespace, Name: channel.Name},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class}},
		&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: channel.Namespace, Name: "web-1",
			Labels: map[string]string{discoveryv1.LabelServiceName: channel.Name}}, AddressType: "IPv4",
			Ports:     []discoveryv1.EndpointPort{{Name: &name, Port: &number}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}},
	}
	for i := range forged {
		slice := &discoveryv1.EndpointSlice{AddressType: "IPv4", ObjectMeta: metav1.ObjectMeta{Namespace: "attacker",
			Name: "forged-" + strconv.Itoa(i), Annotations: map[string]string{keys.Managed: "true"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "mux", UID: "mux-uid"}},
			Labels: map[string]string{discoveryv1.LabelServiceName: "mux", discoveryv1.LabelManagedBy: project.ManagedBy(keys),
				keys.ChannelNamespace: channel.Namespace, keys.ChannelName: channel.Name, keys.Source: "web-1"}}}
		if i%2 == 1 {
			slice.Namespace, slice.OwnerReferences[0].UID = mux.Namespace, "another-uid"
		}
		objects = append(objects, slice)
	}
	for _, object := range objects {
		if err := c.of(object).Add(object); err != nil {
			tb.Fatal(err)
		}
	}
	claims := []plan.Claim{{Owner: plan.PortID{Channel: channel, Name: name, Protocol: corev1.ProtocolTCP},
		MuxName: "aaaa"}}
	l := newLine(Options{Language: language, Reports: &Reports{}, Metrics: NewMetrics(), Now: time.Now,
		LooksAfter: func(types.NamespacedName) bool { return true },
		Claims:     func(_, _ types.NamespacedName) ([]plan.Claim, bool) { return claims, true }}, c)
	return l, c
}

func pass(tb testing.TB, l *line) project.Decision {
	tb.Helper()
	view, err := l.observe(tb.Context(), types.NamespacedName{Namespace: "app", Name: "web"})
	if err != nil {
		tb.Fatal(err)
	}
	return project.Decide(view.View)
}

// TestForgedSlicesAreInNoPass: a pass over a channel looks at the channel's source, and at no forged slice, not even in
// the mux's namespace: the mux doesn't own them.
func TestForgedSlicesAreInNoPass(t *testing.T) {
	for _, forged := range []int{0, 20_000} {
		t.Run(fmt.Sprint(forged), func(t *testing.T) {
			l, c := victim(t, forged)
			if decided := pass(t, l); len(decided.Steps) != 1 || decided.Steps[0].Op != project.Create {
				t.Errorf("%d steps, not one to create the channel's slice", len(decided.Steps))
			}
			if c.looked != 1 {
				t.Errorf("a pass looks at %d slices, not 1", c.looked)
			}
		})
	}
}

// BenchmarkWorstForgedSlices measures how long a channel's pass takes without and with 20,000 forged slices.
func BenchmarkWorstForgedSlices(b *testing.B) {
	for _, forged := range []int{0, 20_000} {
		b.Run(fmt.Sprint(forged), func(b *testing.B) {
			l, _ := victim(b, forged)
			for b.Loop() {
				pass(b, l)
			}
		})
	}
}
