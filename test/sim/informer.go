package sim

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// informer follows one kind of objects.
type informer struct {
	toolscache.SharedIndexInformer
	kind      api.Kind
	name      string
	selector  labels.Selector
	transform func(client.Object) client.Object
	server    *api.Server
	stream    *api.Stream
	at        int64 // version up to which the cache is current
	objects   map[types.NamespacedName]client.Object
	index     map[string]client.IndexerFunc
	// guard guards objects: a goroutine that a timer wakes, and not a step, may read them at any time.
	guard sync.Mutex

	mu       sync.Mutex
	handlers []toolscache.ResourceEventHandler
}

// start fills the cache with the objects at a version, which may be in the past.
func (i *informer) start(at int64) error {
	list, at, err := i.server.List(i.kind, i.selector, at)
	if err != nil {
		return err
	}
	for _, obj := range list {
		obj = i.own(obj)
		i.objects[client.ObjectKeyFromObject(obj)] = obj
	}
	i.watch(at)
	return nil
}

// watch watches from a version on.
func (i *informer) watch(from int64) {
	i.at, i.stream = from, i.server.Watch(i.kind, i.selector, from)
}

func (i *informer) own(obj client.Object) client.Object {
	return i.transform(obj.DeepCopyObject().(client.Object))
}

// deliver applies up to n events to the cache. Handlers see only the last event of each object, as after a list. It
// returns a description of the events.
func (i *informer) deliver(n int) (string, error) {
	last := map[types.NamespacedName]*api.Event{}
	skipped := map[types.NamespacedName]bool{}
	came := 0
	for ; came < n; came++ {
		event, err := i.stream.Next(false)
		if err != nil {
			return "", err
		}
		if event == nil {
			break
		}
		key := client.ObjectKeyFromObject(event.Object)
		skipped[key] = last[key] != nil
		last[key], i.at = event, event.Version
	}
	for _, key := range sortedKeys(last) {
		event := last[key]
		if event.Type == "DELETED" {
			// after skipped events, handlers don't learn the final state, as after a list
			i.set(key, nil, event.Object, skipped[key])
			continue
		}
		i.set(key, event.Object, nil, false)
	}
	return fmt.Sprintf("%d event(s) about %v", came, sortedKeys(last)), nil
}

// relist replaces the cache's contents with the present objects.
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
	i.watch(at)
}

// set changes the cache, then calls the handlers.
func (i *informer) set(key types.NamespacedName, now, gone client.Object, unknown bool) {
	before := i.objects[key]
	if now == nil {
		if before == nil {
			return
		}
		i.guard.Lock()
		delete(i.objects, key)
		i.guard.Unlock()
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
	i.guard.Lock()
	i.objects[key] = now
	i.guard.Unlock()
	for _, h := range i.handlers {
		if before == nil {
			h.OnAdd(now, false)
			continue
		}
		h.OnUpdate(before, now)
	}
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler,
	_ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
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
