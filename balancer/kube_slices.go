package balancer

import (
	"context"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/reconciler/backends/project"
)

// sliceWatch watches the slices of a namespace. It starts after the muxes were read, so that it can tell which slices
// to keep.
//
// A mux and its slices come over two watches, so a slice can come before its mux. Then only the slice's name was kept:
// once the mux comes, all slices are listed again. Until then they count as unread, so that no table changes.
type sliceWatch struct {
	source    *KubeSource
	namespace string
	// again is readable if the slices must be listed again.
	again chan struct{}

	// list is the present list, and next the one that is being read. The source's mutex guards both and what they have.
	// isRead is false while list lacks slices.
	list, next *sliceList
	isRead     bool
}

// sliceList has the slices that one informer has brought.
type sliceList struct {
	watch *sliceWatch
	kept  map[types.NamespacedName]*want.Slice
	// strangers are slices that look like ours, with the mux that they name as their owner. It isn't a known mux of the
	// pool.
	strangers map[types.NamespacedName]owner
	// last is the last kept slice of each mux. Most slices of a mux have equal labels, annotations and owners, and share
	// them.
	last map[types.NamespacedName]*want.Slice
}

// owner is the mux that a slice names.
type owner struct {
	name string
	uid  types.UID
}

// run watches until the context ends.
func (w *sliceWatch) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), w.source.knowsMuxes) {
		return
	}
	stop := func() {}
	defer func() { stop() }()
	for ctx.Err() == nil {
		ended, err := w.read(ctx)
		stop()
		if stop = ended; err != nil {
			w.source.log.Errorw("EndpointSlices can't be watched", "error", err.Error())
			return
		}
		select {
		case <-ctx.Done():
		case <-w.again:
		}
	}
}

// read starts an informer. Once it has the whole list, that replaces the former list. The returned function ends the
// informer.
func (w *sliceWatch) read(ctx context.Context) (context.CancelFunc, error) {
	ctx, stop := context.WithCancel(ctx)
	next := &sliceList{w, map[types.NamespacedName]*want.Slice{}, map[types.NamespacedName]owner{},
		map[types.NamespacedName]*want.Slice{}}
	k := w.source
	i := informer(k.client.DiscoveryV1().RESTClient(), "endpointslices", w.namespace, &discoveryv1.EndpointSlice{},
		func(o *metav1.ListOptions) {
			o.LabelSelector = labels.Set{discoveryv1.LabelManagedBy: project.ManagedBy(k.Language.Keys())}.String()
		})
	handled, err := k.prepare(i, next.trim, next.change)
	if err != nil {
		return stop, err
	}
	k.mu.Lock()
	w.next = next
	k.mu.Unlock()
	go i.RunWithContext(ctx)
	if cache.WaitForCacheSync(ctx.Done(), handled) {
		k.mu.Lock()
		w.list, w.next, w.isRead, k.slicesChanged = next, nil, len(w.again) == 0, true
		k.mu.Unlock()
		wake(k.changed)
	}
	return stop, nil
}

// adopt lists the slices again if a slice of this mux came before the mux. Slices of muxes on other pools stay
// strangers.
func (w *sliceWatch) adopt(mux *corev1.Service) {
	if w.source.poolOf(mux) != w.source.Pool {
		return
	}
	for _, l := range []*sliceList{w.list, w.next} {
		if l == nil {
			continue
		}
		for slice, of := range l.strangers {
			if of == (owner{mux.Name, mux.UID}) && slice.Namespace == mux.Namespace {
				w.isRead = false
				wake(w.again)
				return
			}
		}
	}
}

// owns is true if a known mux of this pool has the name that a slice names, and this UID.
func (k *KubeSource) owns(mux types.NamespacedName, owner types.UID) bool {
	svc := k.muxes[mux]
	return svc != nil && svc.UID == owner && k.poolOf(svc) == k.Pool
}

// trim keeps what is used of a slice that a mux of this pool owns. Of other slices it keeps the name, and the owner if
// the slice looks like ours. A trimmed slice stays as it is.
func (l *sliceList) trim(object any) (any, error) {
	slice, is := object.(*discoveryv1.EndpointSlice)
	if !is {
		return object, nil
	}
	k, keys := l.watch.source, l.watch.source.Language.Keys()
	mux, owner := project.MuxOfSlice(keys, slice), metav1.OwnerReference{}
	if project.IsOurSlice(keys, slice) {
		at := slices.IndexFunc(slice.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == "Service" && o.APIVersion == "v1" && o.Name == mux.Name
		})
		if at >= 0 {
			owner = slice.OwnerReferences[at]
		}
	}
	k.mu.Lock()
	isOurs := k.owns(mux, owner.UID)
	k.mu.Unlock()
	if !isOurs {
		stranger := nameOf(slice)
		if owner.UID != "" && len(owner.UID) <= len("00000000-0000-0000-0000-000000000000") {
			stranger.OwnerReferences = []metav1.OwnerReference{{Name: mux.Name, UID: owner.UID}}
		}
		return stranger, nil
	}
	kept := want.ReadSlice(slice)
	kept.ObjectMeta = nameOf(slice).ObjectMeta
	kept.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: mux.Name, UID: owner.UID}}
	kept.Labels = picked(slice.Labels, discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy)
	kept.Annotations = picked(slice.Annotations, keys.Managed, keys.Mux, keys.SourceRanges, keys.Weight,
		keys.SessionAffinity, keys.TrafficPolicy)
	kept.Ports = make([]discoveryv1.EndpointPort, len(slice.Ports))
	for i, p := range slice.Ports {
		kept.Ports[i] = discoveryv1.EndpointPort{Name: p.Name, Protocol: p.Protocol, Port: p.Port}
	}
	l.share(mux, kept)
	return kept, nil
}

// share lets a slice have the same maps as the last slice of its mux where they are equal.
func (l *sliceList) share(mux types.NamespacedName, kept *want.Slice) {
	l.watch.source.mu.Lock()
	defer l.watch.source.mu.Unlock()
	if last := l.last[mux]; last != nil {
		if maps.Equal(last.Labels, kept.Labels) {
			kept.Labels = last.Labels
		}
		if maps.Equal(last.Annotations, kept.Annotations) {
			kept.Annotations = last.Annotations
		}
		if reflect.DeepEqual(last.OwnerReferences, kept.OwnerReferences) {
			kept.OwnerReferences = last.OwnerReferences
		}
	}
	l.last[mux] = &want.Slice{ObjectMeta: metav1.ObjectMeta{Labels: kept.Labels, Annotations: kept.Annotations,
		OwnerReferences: kept.OwnerReferences}}
}

func picked(from map[string]string, keys ...string) map[string]string {
	to := make(map[string]string, len(keys))
	for _, key := range keys {
		if value, has := from[key]; has {
			to[key] = value
		}
	}
	return to
}

// change records a slice. It returns false for a slice that isn't and wasn't of a mux of this pool.
func (l *sliceList) change(old, now metav1.Object) bool {
	k := l.watch.source
	k.mu.Lock()
	defer k.mu.Unlock()
	key := types.NamespacedName{}
	if now != nil {
		key = keyOf(now)
	} else {
		key = keyOf(old)
	}
	_, was := l.kept[key]
	delete(l.kept, key)
	delete(l.strangers, key)
	slice, is := now.(*want.Slice)
	if is {
		l.kept[key] = slice
	} else if now != nil && len(now.GetOwnerReferences()) > 0 {
		of := owner{now.GetOwnerReferences()[0].Name, now.GetOwnerReferences()[0].UID}
		l.strangers[key] = of
		if k.owns(types.NamespacedName{Namespace: key.Namespace, Name: of.name}, of.uid) { // the mux came meanwhile
			l.watch.isRead = false
			wake(l.watch.again)
		}
	}
	k.slicesChanged = k.slicesChanged || was || is
	return was || is
}
