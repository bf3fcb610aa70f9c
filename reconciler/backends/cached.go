package backends

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/share"
	"nowake.ai/svc-lb-mux/validation"
)

// Trim drops everything of a slice that isn't read or carried. It doesn't ask whether the slice's Service is a channel:
// if the Service becomes one later, the slice isn't sent again.
func Trim(slice *discoveryv1.EndpointSlice, keys validation.Keys) {
	ours := project.IsOurSlice(keys, slice)
	slice.GenerateName, slice.ManagedFields, slice.Finalizers = "", nil, nil
	slice.Labels = pick(slice.Labels, discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy,
		keys.ChannelNamespace, keys.ChannelName, keys.Source)
	slice.Annotations = pickAnnotations(slice.Annotations, keys)
	if !ours {
		slice.OwnerReferences = nil
	}
	if !ours && (slice.Labels[discoveryv1.LabelServiceName] == "" || slice.AddressType == discoveryv1.AddressTypeFQDN) {
		slice.Endpoints, slice.Ports = nil, nil // never carried
	}
	share.Texts(&slice.Namespace)
	share.Texts(&slice.AddressType)
	for i := range slice.Endpoints {
		endpoint := &slice.Endpoints[i]
		endpoint.DeprecatedTopology = nil // the API server refuses it
		endpoint.TargetRef = trimReference(endpoint.TargetRef)
		share.Texts(endpoint.NodeName, endpoint.Zone)
	}
}

// longestPart is the length of the longest name in Kubernetes. The API server checks neither that the object of a
// reference exists, nor how long the reference is.
const longestPart = 253

// trimReference drops a reference that is too long to name an object.
func trimReference(target *corev1.ObjectReference) *corev1.ObjectReference {
	if target == nil {
		return nil
	}
	target.FieldPath = ""
	for _, part := range [...]string{target.APIVersion, target.Kind, target.Namespace, target.Name, string(target.UID),
		target.ResourceVersion} {
		if len(part) > longestPart {
			return nil
		}
	}
	share.Texts(&target.APIVersion, &target.Kind, &target.Namespace)
	return target
}

// pickAnnotations returns the annotations that are read. Source ranges are a list, so they may be longer than
// longestPart.
func pickAnnotations(all map[string]string, keys validation.Keys) map[string]string {
	picked := pick(all, keys.Managed, keys.Mux, keys.Weight, keys.SessionAffinity, keys.TrafficPolicy)
	if ranges, set := all[keys.SourceRanges]; set && picked != nil && len(ranges) <= project.MaxSourceRanges {
		picked[keys.SourceRanges] = ranges
	}
	return picked
}

// pick returns the labels or annotations that are read, without those longer than longestPart. An empty result is nil.
func pick(all map[string]string, read ...string) map[string]string {
	picked := make(map[string]string, len(read))
	for _, key := range read {
		if value, set := all[key]; set && len(value) <= longestPart {
			picked[key] = value
		}
	}
	if len(picked) == 0 {
		return nil
	}
	return picked
}
