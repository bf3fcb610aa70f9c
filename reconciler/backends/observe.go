package backends

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
)

// observation is what a pass read. Its objects are the cache's own and must not be changed.
type observation struct {
	project.View
	// isAhead is true if an own write is newer than the cache. The cache may never show it: another writer can have
	// deleted the slice while the watch was broken.
	isAhead bool
	// isAttached is false for a channel that has left its mux.
	isAttached bool
}

// observe reads the cache. The view of a Service that isn't a channel of ours is empty.
func (l *line) observe(ctx context.Context, channel types.NamespacedName) (observation, error) {
	o := observation{View: project.View{Keys: l.keys, Channel: channel, Taken: map[string]bool{}}}
	key, attached, err := l.muxOf(ctx, channel)
	if err != nil || key.Name == "" || !l.LooksAfter(key) {
		return o, err
	}
	o.Mux.Key, o.isAttached = key, attached
	if attached {
		if err := l.observeChannel(ctx, &o.View); err != nil {
			return o, err
		}
	}
	mux, err := l.get(ctx, key)
	if err != nil || mux == nil {
		return o, err
	}
	o.Mux = l.mux(mux)
	o.ClaimsKnown = true
	if attached {
		o.Claims, o.ClaimsKnown = l.Claims(channel, key)
	}
	listed, err := Carried(ctx, l.cache, channel, mux)
	if err != nil {
		return o, err
	}
	return o, l.observeCarried(ctx, &o, listed)
}

// mux returns a Service as a mux. A mux with problems still counts as a mux, and keeps its claims.
func (l *line) mux(svc *corev1.Service) project.Mux {
	_, onGateways := l.Language.GatewayPool(ptr.Deref(svc.Spec.LoadBalancerClass, ""))
	return project.Mux{
		Key: client.ObjectKeyFromObject(svc), UID: svc.UID, Families: svc.Spec.IPFamilies,
		IsMux:    svc.Spec.Type == corev1.ServiceTypeLoadBalancer && l.Language.Classify(svc).Mux(),
		Deleting: svc.DeletionTimestamp != nil, OnGateways: onGateways,
	}
}

// observeCarried finds the slices that the mux has for the channel: those that it owns and that name the channel, and
// those that have the name that a source needs, whatever another writer did to their labels. The sweeper looks after
// slices whose name doesn't fit their labels: they may be another channel's.
func (l *line) observeCarried(ctx context.Context, o *observation, listed []*discoveryv1.EndpointSlice) error {
	known := make(map[string]bool, len(listed))
	for _, cached := range listed {
		if project.HasOwnName(l.keys, cached) {
			known[cached.Name] = true
			l.add(o, client.ObjectKeyFromObject(cached), cached)
		}
	}
	for _, source := range o.Sources {
		key := types.NamespacedName{Namespace: o.Mux.Key.Namespace,
			Name: project.SliceName(o.Mux.Key, o.Channel, source.Name, source.AddressType)}
		if known[key.Name] {
			continue
		}
		known[key.Name] = true
		cached, err := read(ctx, l.cache, key, &discoveryv1.EndpointSlice{})
		if err != nil {
			return err
		}
		l.add(o, key, cached)
	}
	return nil
}

// add adds the newest known state of a slice to an observation.
func (l *line) add(o *observation, key types.NamespacedName, cached *discoveryv1.EndpointSlice) {
	latest := l.written.Latest(key, cached)
	o.isAhead = o.isAhead || latest != cached
	switch {
	case latest == nil:
	case project.IsOurSlice(l.keys, latest):
		o.Carried = append(o.Carried, latest)
	default:
		o.Taken[key.Name] = true
	}
}

// get reads a Service from the cache. The result is nil if it doesn't exist.
func (l *line) get(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	return read(ctx, l.cache, key, &corev1.Service{})
}

// read reads an object, which must not be changed. The result is nil if the object doesn't exist.
func read[T any, P interface {
	*T
	client.Object
}](ctx context.Context, from client.Reader, key types.NamespacedName, into P) (P, error) {
	err := from.Get(ctx, key, into, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %T %s: %w", into, key, err)
	}
	return into, nil
}
