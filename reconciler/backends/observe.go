package backends

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// observation is what a decision about a channel is made from. Nothing of it may be changed.
type observation struct {
	muxslices.View
	// disputed is true if a slice has this channel's labels, and was another's.
	disputed bool
	// ahead is true if what was written counts for more than the cache, which may never show it: somebody may have
	// deleted it while the watch was broken.
	ahead bool
}

// observe gathers, and asks nobody but the cache.
func (l *line) observe(ctx context.Context, channel types.NamespacedName) (observation, error) {
	view := observation{View: muxslices.View{Keys: l.keys, Channel: channel, InPlace: l.inPlace.of(channel), Taken: map[string]bool{}}}
	svc, err := l.get(ctx, channel)
	if err != nil {
		return view, err
	}
	if svc != nil {
		view.Mux.Key, view.Attached = muxOf(l.Language, svc)
		view.Ports = svc.Spec.Ports
	}
	if view.Attached && !l.LooksAfter(view.Mux.Key) {
		view.Mux.Key, view.Attached = types.NamespacedName{}, false
	}
	if view.Attached {
		if err := l.observeMux(ctx, &view); err != nil {
			return view, err
		}
		if view.Sources, err = Sources(ctx, l.cache, channel); err != nil {
			return view, err
		}
	}
	return view, l.observeSlices(ctx, &view)
}

func (l *line) observeMux(ctx context.Context, view *observation) error {
	mux, err := l.get(ctx, view.Mux.Key)
	if err != nil {
		return err
	}
	if mux != nil {
		view.Mux = l.carrier(mux)
	}
	view.Claims, view.ClaimsKnown = l.Claims(view.Channel, view.Mux.Key)
	return nil
}

// carrier is a Service as a mux. One with problems is a mux still: whatever it has been decided to carry is carried on.
func (l *line) carrier(svc *corev1.Service) muxslices.Mux {
	return muxslices.Mux{
		Key: client.ObjectKeyFromObject(svc), UID: svc.UID, Families: svc.Spec.IPFamilies,
		IsMux:    svc.Spec.Type == corev1.ServiceTypeLoadBalancer && l.Language.Classify(svc).Mux(),
		Deleting: svc.DeletionTimestamp != nil,
	}
}

// observeSlices finds our slices of the channel: those that its mux owns and that name the channel, those that this
// process had in place, whatever somebody did to their labels, and those under the names that its sources' slices get.
func (l *line) observeSlices(ctx context.Context, view *observation) error {
	listed, err := l.ownedSlices(ctx, view)
	if err != nil {
		return err
	}
	known := make(map[types.NamespacedName]bool, len(listed))
	for _, cached := range listed {
		key := client.ObjectKeyFromObject(cached)
		if known[key] {
			continue
		}
		known[key] = true
		if !l.LooksAfter(types.NamespacedName{Namespace: key.Namespace, Name: cached.Labels[discoveryv1.LabelServiceName]}) {
			continue // rights there aren't ours to use, should we have them for a moment
		}
		if l.inPlace.isAnothers(key, view.Channel) {
			view.disputed = true // somebody changed its labels, and the channel whose it is puts them right
			continue
		}
		slice := l.written.Latest(key, cached)
		view.ahead = view.ahead || slice != cached
		if slice != nil {
			view.Slices = append(view.Slices, slice)
		}
	}
	for _, source := range view.Sources {
		key := types.NamespacedName{Namespace: view.Mux.Key.Namespace,
			Name: muxslices.SliceName(view.Mux.Key, view.Channel, source.Name, source.AddressType)}
		if known[key] {
			continue
		}
		known[key] = true
		slice, cached, err := l.slice(ctx, key)
		if err != nil {
			return err
		}
		view.ahead = view.ahead || slice != cached
		switch {
		case slice == nil:
		case muxslices.IsOurSlice(l.keys, slice):
			view.Slices = append(view.Slices, slice)
		default:
			view.Taken[key.Name] = true
		}
	}
	return l.observeInPlace(ctx, view, known)
}

// ownedSlices lists what the channel's mux owns of it, and what the mux owns that it was on before.
func (l *line) ownedSlices(ctx context.Context, view *observation) ([]*discoveryv1.EndpointSlice, error) {
	now := muxID{view.Mux.Key, view.Mux.UID}
	listed, err := l.ownedBy(ctx, now, view.Channel)
	if err != nil {
		return nil, err
	}
	if last, known := l.inPlace.lastMux(view.Channel); known && last != now {
		before, err := l.ownedBy(ctx, last, view.Channel)
		if err != nil || len(before) > 0 {
			return append(before, listed...), err
		}
	}
	l.inPlace.setMux(view.Channel, now)
	return listed, nil
}

func (l *line) ownedBy(ctx context.Context, mux muxID, channel types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	if mux.uid == "" {
		return nil, nil
	}
	return slicesBy(ctx, l.cache, mux.key.Namespace, byChannel, channelOn(channel, mux.uid))
}

// observeInPlace adds the slices that this process had in place for the channel and that don't tell so any more.
func (l *line) observeInPlace(ctx context.Context, view *observation, known map[types.NamespacedName]bool) error {
	for _, key := range slices.SortedFunc(maps.Keys(view.InPlace), plan.CompareKeys) {
		if known[key] {
			continue
		}
		slice, cached, err := l.slice(ctx, key)
		if err != nil {
			return err
		}
		view.ahead = view.ahead || slice != cached
		if slice != nil && muxslices.IsOurSlice(l.keys, slice) {
			view.Slices = append(view.Slices, slice)
		}
	}
	return nil
}

// get returns a Service, nil if there is none.
func (l *line) get(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	var svc corev1.Service
	if err := l.cache.Get(ctx, key, &svc, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read Service %s: %w", key, err)
	}
	return &svc, nil
}

// slice returns a slice as it was written, if that is newer than what the cache has, and what the cache has; nil if there
// is none.
func (l *line) slice(ctx context.Context, key types.NamespacedName) (latest, cached *discoveryv1.EndpointSlice, err error) {
	cached = &discoveryv1.EndpointSlice{}
	if err := l.cache.Get(ctx, key, cached, client.UnsafeDisableDeepCopy); err != nil {
		if !apierrors.IsNotFound(err) {
			return nil, nil, fmt.Errorf("read EndpointSlice %s: %w", key, err)
		}
		cached = nil
	}
	return l.written.Latest(key, cached), cached, nil
}
