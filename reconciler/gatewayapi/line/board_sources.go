package line

import (
	"context"
	"fmt"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/validation"
)

// Sources returns the slices of a listener's Services, with the listener's port alone.
func (b *Board) Sources(ctx context.Context, cache client.Reader,
	key types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	b.mu.Lock()
	posted := b.muxes[b.muxOf[key]]
	if posted == nil {
		b.mu.Unlock()
		return nil, nil
	}
	is := posted.listeners[key]
	b.mu.Unlock()
	port := &is.channel.Ports[0]
	var all []*discoveryv1.EndpointSlice
	for i, backend := range is.backends {
		slices, err := b.SlicesOf(ctx, cache, backend.Service)
		if err != nil {
			return nil, err
		}
		for _, slice := range slices {
			if source := sourceOf(slice, backend.PortName, port); source != nil {
				source.Name = sourceName(is.backends, i, key.Namespace, slice.Name)
				if len(is.backends) > 1 {
					source.Annotations = map[string]string{b.keys.Weight: fmt.Sprintf("%d %s", backend.Weight, backend.Service)}
				}
				all = append(all, source)
			}
		}
	}
	return all, nil
}

// sourceOf returns a copy of a slice that has only the named port, under the listener's name for it; nil if the slice
// lacks the port. The copy shares the endpoints.
func sourceOf(slice *discoveryv1.EndpointSlice, name string, as *validation.ChannelPort) *discoveryv1.EndpointSlice {
	for i := range slice.Ports {
		p := &slice.Ports[i]
		if p.Name != nil && *p.Name == name && p.Protocol != nil && *p.Protocol == as.Protocol ||
			p.Name == nil && name == "" {
			source := *slice
			source.Ports = []discoveryv1.EndpointPort{{Name: &as.Name, Protocol: &as.Protocol, Port: p.Port,
				AppProtocol: p.AppProtocol}}
			return &source
		}
	}
	return nil
}

// sourceName returns a name for a copied slice. Copies of one listener must differ: two namespaces may have slices of
// one name, and two backends the same Service.
func sourceName(all []read.Backend, i int, own, slice string) string {
	name, backend := slice, all[i]
	if backend.Service.Namespace != own {
		name = backend.Service.Namespace + "." + name
	}
	if slices.ContainsFunc(all[:i], func(b read.Backend) bool { return b.Service == backend.Service }) {
		name += "." + backend.PortName
	}
	return name
}
