package backends

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
	"nowake.ai/svc-lb-mux/validation"
)

// Names of the cache's indexes.
const (
	bySource  = "svc-lb-mux/source"  // slices that aren't ours, by the Service they are of
	byChannel = "svc-lb-mux/channel" // slices of ours, by the channel they carry and the UID of the mux that owns them
	byCarrier = "svc-lb-mux/carrier" // slices of ours, by the name of the mux they are on
	byMux     = "svc-lb-mux/mux"     // Services that are channels, by the mux they name
)

func registerIndexes(ctx context.Context, indexer client.FieldIndexer, language validation.Language) error {
	keys := language.Keys()
	for _, index := range []struct {
		object client.Object
		name   string
		of     client.IndexerFunc
	}{
		{&discoveryv1.EndpointSlice{}, bySource, onSlices(func(slice *discoveryv1.EndpointSlice) string {
			if muxslices.IsOurSlice(keys, slice) {
				return ""
			}
			return slice.Labels[discoveryv1.LabelServiceName]
		})},
		{&discoveryv1.EndpointSlice{}, byChannel, func(object client.Object) []string {
			slice := object.(*discoveryv1.EndpointSlice)
			channel, ours := muxslices.ChannelOfSlice(keys, slice)
			if !ours {
				return nil
			}
			var values []string
			for _, owner := range muxslices.OwnersOfSlice(slice) {
				values = append(values, channelOn(channel, owner))
			}
			return values
		}},
		{&discoveryv1.EndpointSlice{}, byCarrier, onSlices(func(slice *discoveryv1.EndpointSlice) string {
			if !muxslices.IsOurSlice(keys, slice) {
				return ""
			}
			return muxslices.MuxOfSlice(keys, slice).Name
		})},
		{&corev1.Service{}, byMux, func(object client.Object) []string {
			if mux, attached := muxOf(language, object.(*corev1.Service)); attached {
				return []string{mux.String()}
			}
			return nil
		}},
	} {
		if err := indexer.IndexField(ctx, index.object, index.name, index.of); err != nil {
			return fmt.Errorf("index %s: %w", index.name, err)
		}
	}
	return nil
}

func onSlices(of func(*discoveryv1.EndpointSlice) string) client.IndexerFunc {
	return func(object client.Object) []string {
		if value := of(object.(*discoveryv1.EndpointSlice)); value != "" {
			return []string{value}
		}
		return nil
	}
}

// channelOn is what slices are indexed by that carry a channel on the mux with that UID. Slices without a live owner never
// come up in a pass: anybody may put our labels on slices, as many as they like.
func channelOn(channel types.NamespacedName, mux types.UID) string {
	return channel.String() + "@" + string(mux)
}

// muxOf returns the mux that a Service names, if it is a channel.
func muxOf(language validation.Language, svc *corev1.Service) (types.NamespacedName, bool) {
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer || !language.Classify(svc).Channel() {
		return types.NamespacedName{}, false
	}
	return language.ParseClass(*svc.Spec.LoadBalancerClass)
}

// Sources returns the slices of a channel, whoever writes them, from a cache that Setup has indexed. They are the
// cache's own: nobody may change them.
func Sources(ctx context.Context, cache client.Reader, channel types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return slicesBy(ctx, cache, channel.Namespace, bySource, channel.Name)
}

// Carried returns our slices of a channel on a mux, as Sources does.
func Carried(ctx context.Context, cache client.Reader, channel types.NamespacedName, mux *corev1.Service) ([]*discoveryv1.EndpointSlice, error) {
	return slicesBy(ctx, cache, mux.Namespace, byChannel, channelOn(channel, mux.UID))
}

// OnMux returns our slices on a mux, as Sources does.
func OnMux(ctx context.Context, cache client.Reader, mux types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return slicesBy(ctx, cache, mux.Namespace, byCarrier, mux.Name)
}

func slicesBy(ctx context.Context, cache client.Reader, namespace, index, value string) ([]*discoveryv1.EndpointSlice, error) {
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
	if err := cache.List(ctx, &list, client.MatchingFields{byMux: mux.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list channels of %s: %w", mux, err)
	}
	channels := make([]types.NamespacedName, len(list.Items))
	for i := range list.Items {
		channels[i] = client.ObjectKeyFromObject(&list.Items[i])
	}
	return channels, nil
}
