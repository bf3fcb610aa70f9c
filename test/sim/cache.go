package sim

import (
	"context"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// memory is a process's cache. It changes only while all goroutines are blocked.
type memory struct {
	cache.Cache
	kinds map[api.Kind]*informer
	order []*informer
	// backwards reverses the order of lists: a real cache has no order.
	backwards bool
}

func newMemory(server *api.Server, kinds []api.Kind, selectors map[api.Kind]labels.Selector,
	transform func(client.Object) client.Object) *memory {
	m := &memory{kinds: map[api.Kind]*informer{}}
	for _, kind := range kinds {
		selector := selectors[kind]
		if selector == nil {
			selector = labels.Everything()
		}
		m.kinds[kind] = &informer{kind: kind, name: string(kind), selector: selector, transform: transform, server: server,
			objects: map[types.NamespacedName]client.Object{}, index: map[string]client.IndexerFunc{}}
		m.order = append(m.order, m.kinds[kind])
	}
	return m
}

func kinds() []api.Kind {
	return []api.Kind{api.Services, api.ConfigMaps, api.EndpointSlices}
}

// Get implements client.Reader.
func (m *memory) Get(_ context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	kind := api.KindOf(obj)
	inf := m.kinds[kind]
	inf.guard.Lock()
	found := inf.objects[key]
	inf.guard.Unlock()
	if found == nil {
		return apierrors.NewNotFound(kind.Resource(), key.Name)
	}
	var o client.GetOptions
	o.ApplyOptions(options)
	if o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
		found = found.DeepCopyObject().(client.Object)
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}

// List implements client.Reader.
func (m *memory) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	inf := m.kinds[api.KindOf(list)]
	inf.guard.Lock()
	defer inf.guard.Unlock()
	var found []runtime.Object
	for _, key := range sortedKeys(inf.objects) {
		obj := inf.objects[key]
		if o.Namespace != "" && o.Namespace != key.Namespace || o.LabelSelector != nil &&
			!o.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
			continue
		}
		if o.FieldSelector != nil {
			field := o.FieldSelector.Requirements()[0]
			if !slices.Contains(inf.index[field.Field](obj), field.Value) {
				continue
			}
		}
		found = append(found, obj)
	}
	if m.backwards {
		slices.Reverse(found)
	}
	return meta.SetList(list, found)
}

// GetInformer implements cache.Cache.
func (m *memory) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer,
	error) {
	return m.kinds[api.KindOf(obj)], nil
}

// WaitForCacheSync implements cache.Cache. Caches are filled before any controller runs.
func (m *memory) WaitForCacheSync(context.Context) bool { return true }

// IndexField implements cache.Cache.
func (m *memory) IndexField(_ context.Context, obj client.Object, field string, of client.IndexerFunc) error {
	m.kinds[api.KindOf(obj)].index[field] = of
	return nil
}
