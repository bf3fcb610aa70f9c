package sim

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// memory is a process's cache. It changes only while everything else stands still.
type memory struct {
	cache.Cache
	kinds map[api.Kind]*informer
	// backwards has lists come in the other order: a real cache has none.
	backwards bool
}

// informer follows one kind.
type informer struct {
	toolscache.SharedIndexInformer
	kind      api.Kind
	selector  labels.Selector
	transform func(client.Object) client.Object
	server    *api.Server
	stream    *api.Stream
	objects   map[types.NamespacedName]client.Object
	index     map[string]client.IndexerFunc

	mu       sync.Mutex
	handlers []toolscache.ResourceEventHandler
}

func newMemory(server *api.Server, selectors map[api.Kind]labels.Selector, transform func(client.Object) client.Object) *memory {
	m := &memory{kinds: map[api.Kind]*informer{}}
	for _, kind := range kinds() {
		selector := selectors[kind]
		if selector == nil {
			selector = labels.Everything()
		}
		m.kinds[kind] = &informer{kind: kind, selector: selector, transform: transform, server: server,
			objects: map[types.NamespacedName]client.Object{}, index: map[string]client.IndexerFunc{}}
	}
	return m
}

func kinds() []api.Kind {
	return []api.Kind{api.Services, api.ConfigMaps, api.EndpointSlices, api.Endpoints}
}

// Get implements client.Reader.
func (m *memory) Get(_ context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	kind := api.KindOf(obj)
	found := m.kinds[kind].objects[key]
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
	var found []runtime.Object
	for _, key := range sortedKeys(inf.objects) {
		obj := inf.objects[key]
		if o.Namespace != "" && o.Namespace != key.Namespace || o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
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
func (m *memory) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return m.kinds[api.KindOf(obj)], nil
}

// WaitForCacheSync implements cache.Cache: caches are filled before anything runs.
func (m *memory) WaitForCacheSync(context.Context) bool { return true }

// IndexField implements cache.Cache.
func (m *memory) IndexField(_ context.Context, obj client.Object, field string, of client.IndexerFunc) error {
	m.kinds[api.KindOf(obj)].index[field] = of
	return nil
}

// start fills the cache with what was so at a version, which may lie in the past.
func (i *informer) start(at int64) error {
	list, at, err := i.server.List(i.kind, i.selector, at)
	if err != nil {
		return err
	}
	for _, obj := range list {
		obj = i.own(obj)
		i.objects[client.ObjectKeyFromObject(obj)] = obj
	}
	i.stream = i.server.Watch(i.kind, i.selector, at)
	return nil
}

func (i *informer) own(obj client.Object) client.Object {
	return i.transform(obj.DeepCopyObject().(client.Object))
}

// deliver brings the cache up to n events further. Of those of one object only the last is shown, as after a list. It
// says what was delivered.
func (i *informer) deliver(n int) (string, error) {
	last := map[types.NamespacedName]*api.Event{}
	came := 0
	for ; came < n; came++ {
		event, err := i.stream.Next(false)
		if err != nil {
			return "", err
		}
		if event == nil {
			break
		}
		last[client.ObjectKeyFromObject(event.Object)] = event
	}
	for _, key := range sortedKeys(last) {
		event := last[key]
		if event.Type == "DELETED" {
			i.set(key, nil, event.Object, false)
			continue
		}
		i.set(key, event.Object, nil, false)
	}
	return fmt.Sprintf("%d event(s) about %v", came, sortedKeys(last)), nil
}

// relist takes the present in place of what led there.
func (i *informer) relist() {
	list, at, _ := i.server.List(i.kind, i.selector, 0)
	there := map[types.NamespacedName]bool{}
	for _, obj := range list {
		key := client.ObjectKeyFromObject(obj)
		there[key] = true
		i.set(key, obj, nil, false)
	}
	for _, key := range sortedKeys(i.objects) {
		if !there[key] {
			i.set(key, nil, i.objects[key], true)
		}
	}
	i.stream = i.server.Watch(i.kind, i.selector, at)
}

// set changes the cache, then tells the handlers.
func (i *informer) set(key types.NamespacedName, now, gone client.Object, unknown bool) {
	before := i.objects[key]
	if now == nil {
		if before == nil {
			return
		}
		delete(i.objects, key)
		var shown any = before
		switch {
		case unknown:
			shown = toolscache.DeletedFinalStateUnknown{Key: key.String(), Obj: before}
		case gone != nil:
			shown = i.own(gone)
		}
		for _, h := range i.handlers {
			h.OnDelete(shown)
		}
		return
	}
	now = i.own(now)
	i.objects[key] = now
	for _, h := range i.handlers {
		if before == nil {
			h.OnAdd(now, false)
			continue
		}
		h.OnUpdate(before, now)
	}
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, key := range sortedKeys(i.objects) {
		h.OnAdd(i.objects[key], true)
	}
	i.handlers = append(i.handlers, h)
	return registered{}, nil
}

type registered struct {
	toolscache.ResourceEventHandlerRegistration
}

func (registered) HasSynced() bool { return true }
