package backends

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/validation"
)

// Names of the cache's indexes.
const (
	bySource = "svc-lb-mux/source" // slices that aren't ours, by their Service
	// slices of ours, by the channel that they name and the UID of each Service that owns them
	byChannel = "svc-lb-mux/channel"
	byCarrier = "svc-lb-mux/carrier" // slices of ours, by the name of their mux
	byMux     = "svc-lb-mux/mux"     // channels, by their mux
)

// Index adds the indexes to a manager's cache. Setup needs them, and doesn't add them.
func Index(ctx context.Context, indexer client.FieldIndexer, language validation.Language) error {
	keys := language.Keys()
	for _, index := range []struct {
		object client.Object
		name   string
		of     client.IndexerFunc
	}{
		{&discoveryv1.EndpointSlice{}, bySource, func(object client.Object) []string {
			slice := object.(*discoveryv1.EndpointSlice)
			return values(!project.IsOurSlice(keys, slice), slice.Labels[discoveryv1.LabelServiceName])
		}},
		{&discoveryv1.EndpointSlice{}, byChannel, func(object client.Object) []string {
			slice := object.(*discoveryv1.EndpointSlice)
			channel, ours := project.ChannelOfSlice(keys, slice)
			var all []string
			for _, owner := range project.OwnersOfSlice(slice) {
				all = append(all, values(ours, channelOn(channel, owner))...)
			}
			return all
		}},
		{&discoveryv1.EndpointSlice{}, byCarrier, func(object client.Object) []string {
			slice := object.(*discoveryv1.EndpointSlice)
			return values(project.IsOurSlice(keys, slice), project.MuxOfSlice(keys, slice).Name)
		}},
		{&corev1.Service{}, byMux, func(object client.Object) []string {
			mux, attached := muxOf(language, object.(*corev1.Service))
			return values(attached, mux.String())
		}},
	} {
		if err := indexer.IndexField(ctx, index.object, index.name, index.of); err != nil {
			return fmt.Errorf("index %s: %w", index.name, err)
		}
	}
	return nil
}

func values(is bool, value string) []string {
	if !is || value == "" {
		return nil
	}
	return []string{value}
}

// channelOn is the index value of a channel's slices on the mux with that UID. A pass lists only slices that a live mux
// owns: any tenant can write slices with our labels, as many as they like.
func channelOn(channel types.NamespacedName, mux types.UID) string {
	return channel.String() + "@" + string(mux)
}

// muxOf returns the mux that a Service names, if it is a channel. The Service may be nil.
func muxOf(language validation.Language, svc *corev1.Service) (types.NamespacedName, bool) {
	if svc == nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || !language.Classify(svc).Channel() {
		return types.NamespacedName{}, false
	}
	return language.ParseClass(*svc.Spec.LoadBalancerClass)
}

// Sources returns the slices of a channel's Service from a cache that has our indexes. They are the cache's own and
// must not be changed.
func Sources(ctx context.Context, cache client.Reader, channel types.NamespacedName) ([]*discoveryv1.EndpointSlice,
	error) {
	return slicesBy(ctx, cache, channel.Namespace, bySource, channel.Name)
}

// Carried returns the slices that a mux has for a channel, as Sources does.
func Carried(ctx context.Context, cache client.Reader, channel types.NamespacedName,
	mux *corev1.Service) ([]*discoveryv1.EndpointSlice, error) {
	return slicesBy(ctx, cache, mux.Namespace, byChannel, channelOn(channel, mux.UID))
}

// OnMux returns all our slices on a mux, as Sources does.
func OnMux(ctx context.Context, cache client.Reader, mux types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return slicesBy(ctx, cache, mux.Namespace, byCarrier, mux.Name)
}

func slicesBy(ctx context.Context, cache client.Reader, namespace, index, value string) ([]*discoveryv1.EndpointSlice,
	error) {
	var list discoveryv1.EndpointSliceList
	if err := cache.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{index: value},
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list EndpointSlices by %s of %s: %w", index, value, err)
	}
	slices := make([]*discoveryv1.EndpointSlice, len(list.Items))
	for i := range list.Items {
		slices[i] = &list.Items[i]
	}
	return slices, nil
}

// channelsOf returns the channels that name a mux.
func channelsOf(ctx context.Context, cache client.Reader, mux types.NamespacedName) ([]types.NamespacedName, error) {
	var list corev1.ServiceList
	if err := cache.List(ctx, &list, client.MatchingFields{byMux: mux.String()},
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list channels of %s: %w", mux, err)
	}
	channels := make([]types.NamespacedName, len(list.Items))
	for i := range list.Items {
		channels[i] = client.ObjectKeyFromObject(&list.Items[i])
	}
	return channels, nil
}
