package backends

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
)

// Claimants are channels that are no Services: listeners of Gateways. Their backends are those of other Services.
type Claimants interface {
	// MuxOf returns the mux of a claimant, and true. For a claimant that has no mux any more, it returns the former mux,
	// if known, and false. It fails while nothing is known of the claimant.
	MuxOf(claimant types.NamespacedName) (mux types.NamespacedName, is bool, err error)
	// KeysOn returns the claimants on a mux.
	KeysOn(mux types.NamespacedName) []types.NamespacedName
	// Users returns the claimants that send packets to a Service.
	Users(service types.NamespacedName) []types.NamespacedName
	// Sources returns the slices of a claimant's Services from a cache that has our indexes, with the claimant's port
	// alone.
	Sources(ctx context.Context, cache client.Reader, claimant types.NamespacedName) ([]*discoveryv1.EndpointSlice, error)
}

// errUnserved keeps the slices of listeners while Gateways aren't served.
var errUnserved = errors.New("listeners of Gateways aren't served by this process: their backends stay as they are")

// muxOf returns the mux of a channel; false if it has none, or none any more.
func (l *line) muxOf(ctx context.Context, channel types.NamespacedName) (types.NamespacedName, bool, error) {
	if !claimants.IsService(channel) {
		if l.Claimants == nil {
			return types.NamespacedName{}, false, errUnserved
		}
		return l.Claimants.MuxOf(channel)
	}
	svc, err := l.get(ctx, channel)
	mux, is := muxOf(l.Language, svc)
	return mux, is, err
}

// observeChannel adds the channel's own slices, ports and settings to a view.
func (l *line) observeChannel(ctx context.Context, v *project.View) (err error) {
	v.Sources, err = SourcesOf(l.Claimants)(ctx, l.cache, v.Channel)
	if err != nil || !claimants.IsService(v.Channel) {
		v.Settings = project.SettingsOf(&corev1.Service{})
		return err
	}
	svc, err := l.get(ctx, v.Channel)
	if svc != nil {
		v.Ports, v.Settings = svc.Spec.Ports, project.SettingsOf(svc)
	}
	return err
}

// SourcesOf returns a function like Sources for Services and for listeners. The listeners may be nil.
func SourcesOf(listeners Claimants) func(context.Context, client.Reader,
	types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return func(ctx context.Context, cache client.Reader, channel types.NamespacedName) ([]*discoveryv1.EndpointSlice,
		error) {
		if claimants.IsService(channel) || listeners == nil {
			return Sources(ctx, cache, channel)
		}
		return listeners.Sources(ctx, cache, channel)
	}
}

// users returns requests for the claimants that send packets to a Service.
func (l *line) users(service types.NamespacedName) (all []reconcile.Request) {
	if l.Claimants == nil {
		return nil
	}
	for _, claimant := range l.Claimants.Users(service) {
		all = append(all, request(claimant))
	}
	return all
}
