package backends

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/reconciler/share"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
	"nowake.ai/svc-lb-mux/validation"
)

// Trim takes off a slice what is never read of it, nor carried. It doesn't look at what the slice's Service is: if that
// becomes a channel later, the slice isn't sent again.
func Trim(slice *discoveryv1.EndpointSlice, keys validation.Keys) {
	ours := muxslices.IsOurSlice(keys, slice)
	slice.GenerateName, slice.ManagedFields, slice.Finalizers = "", nil, nil
	slice.Labels = pick(slice.Labels, discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy,
		keys.ChannelNamespace, keys.ChannelName, keys.Source)
	slice.Annotations = pick(slice.Annotations, keys.Managed, keys.Mux)
	if !ours {
		slice.OwnerReferences = nil
	}
	if !ours && (slice.Labels[discoveryv1.LabelServiceName] == "" || slice.AddressType == discoveryv1.AddressTypeFQDN) {
		slice.Endpoints, slice.Ports = nil, nil // of no Service, or with addresses that are never carried
	}
	share.Texts(&slice.Namespace)
	share.Texts(&slice.AddressType)
	for i := range slice.Endpoints {
		endpoint := &slice.Endpoints[i]
		endpoint.DeprecatedTopology = nil // which can't be written any more
		endpoint.TargetRef = trimReference(endpoint.TargetRef)
		share.Texts(endpoint.NodeName, endpoint.Zone)
	}
}

// longestPart is as long as a name may be. The API server takes references that name nothing, of any length.
const longestPart = 253

// trimReference has what refers to nothing be no reference.
func trimReference(target *corev1.ObjectReference) *corev1.ObjectReference {
	if target == nil {
		return nil
	}
	target.FieldPath = ""
	for _, part := range [...]string{target.APIVersion, target.Kind, target.Namespace, target.Name, string(target.UID), target.ResourceVersion} {
		if len(part) > longestPart {
			return nil
		}
	}
	share.Texts(&target.APIVersion, &target.Kind, &target.Namespace)
	return target
}

// pick returns those of some labels or annotations that are read; nil if there are none.
func pick(all map[string]string, read ...string) map[string]string {
	var picked map[string]string
	for _, key := range read {
		value, set := all[key]
		if !set || len(value) > longestPart {
			continue
		}
		if picked == nil {
			picked = make(map[string]string, len(read))
		}
		picked[key] = value
	}
	return picked
}
