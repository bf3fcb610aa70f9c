package snapshot

import (
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
)

// slice hashes the names in an EndpointSlice. Ours then have the name that the reconciler would give them for the
// hashed channel.
func (h *hashing) slice(slice *discoveryv1.EndpointSlice) {
	keys := h.language.Keys()
	carried, _ := project.ChannelOfSlice(keys, slice)
	slice.Namespace, slice.Name, slice.GenerateName = h.name(slice.Namespace), h.name(slice.Name), ""
	for label, value := range slice.Labels {
		switch label {
		case discoveryv1.LabelServiceName, keys.ChannelNamespace, keys.Source:
			slice.Labels[label] = h.name(value)
		case keys.ChannelName:
			slice.Labels[label] = project.LabelOf(h.claimant(carried).Name)
		case discoveryv1.LabelManagedBy:
		default:
			slice.Labels[label] = h.value(value)
		}
	}
	if namespace, name, is := strings.Cut(slice.Annotations[keys.Mux], "/"); is {
		slice.Annotations[keys.Mux] = h.name(namespace) + "/" + h.name(name)
	}
	for i := range slice.OwnerReferences {
		slice.OwnerReferences[i].Name = h.name(slice.OwnerReferences[i].Name)
	}
	for i := range slice.Endpoints {
		endpoint := &slice.Endpoints[i]
		for _, name := range [...]*string{endpoint.NodeName, endpoint.Hostname} {
			if name != nil {
				*name = h.name(*name)
			}
		}
		if endpoint.TargetRef != nil {
			endpoint.TargetRef.Namespace = h.name(endpoint.TargetRef.Namespace)
			endpoint.TargetRef.Name = h.name(endpoint.TargetRef.Name)
		}
	}
	if channel, is := project.ChannelOfSlice(keys, slice); is {
		slice.Name = project.SliceName(project.MuxOfSlice(keys, slice), channel, slice.Labels[keys.Source],
			slice.AddressType)
	}
}
