package slices

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// MirroringController is who writes the slices of an Endpoints object.
const MirroringController = "endpointslicemirroring-controller.k8s.io"

// IsOurSlice is true for a slice that we wrote, also if somebody took our label off. Those that Kubernetes makes of the
// original's Endpoints have its annotations, too: they say who wrote them.
func IsOurSlice(keys validation.Keys, slice *discoveryv1.EndpointSlice) bool {
	switch slice.Labels[discoveryv1.LabelManagedBy] {
	case ManagedBy(keys):
		return true
	case MirroringController:
		return false
	}
	return slice.Annotations[keys.Managed] == "true"
}

// OwnersOfSlice returns the UIDs of the Services that own a slice. A slice is ours only if one of them is its mux: an owner
// has to be in the slice's namespace, so that nobody makes such a slice without rights there.
func OwnersOfSlice(slice *discoveryv1.EndpointSlice) []types.UID {
	var owners []types.UID
	for i := range slice.OwnerReferences {
		if owner := &slice.OwnerReferences[i]; owner.Kind == "Service" && owner.APIVersion == "v1" {
			owners = append(owners, owner.UID)
		}
	}
	return owners
}

// ChannelOfSlice returns the channel that a slice of ours says it carries; false if it says none.
func ChannelOfSlice(keys validation.Keys, slice *discoveryv1.EndpointSlice) (types.NamespacedName, bool) {
	channel := types.NamespacedName{
		Namespace: slice.Labels[keys.ChannelNamespace],
		Name:      slice.Labels[keys.ChannelName],
	}
	return channel, channel.Namespace != "" && channel.Name != "" && IsOurSlice(keys, slice)
}

// MuxOfSlice returns the mux that a slice of ours belongs to. The label is what data planes go by; where somebody took
// it off, the annotation tells.
func MuxOfSlice(keys validation.Keys, slice *discoveryv1.EndpointSlice) types.NamespacedName {
	if name := slice.Labels[discoveryv1.LabelServiceName]; name != "" {
		return types.NamespacedName{Namespace: slice.Namespace, Name: name}
	}
	_, name, _ := strings.Cut(slice.Annotations[keys.Mux], "/")
	return types.NamespacedName{Namespace: slice.Namespace, Name: name}
}

// RecordsOf returns which channel our slices carry under each port name of a mux: with the ledger lost, that tells
// whose a port is. A name under which two are carried tells nothing.
func RecordsOf(keys validation.Keys, list []*discoveryv1.EndpointSlice) map[string]types.NamespacedName {
	records, torn := map[string]types.NamespacedName{}, map[string]bool{}
	for _, slice := range list {
		channel, ok := ChannelOfSlice(keys, slice)
		if !ok {
			continue
		}
		for _, port := range slice.Ports {
			key, named := keyOfPort(port)
			if !named {
				continue
			}
			if before, twice := records[key.name]; twice && before != channel {
				torn[key.name] = true
			}
			records[key.name] = channel
		}
	}
	for name := range torn {
		delete(records, name)
	}
	return records
}

// CarriedBacking is BackingOf for a channel of which slices are on the mux: those tell whether it has backends there, and
// its own slices tell why not.
func CarriedBacking(carried, sources []*discoveryv1.EndpointSlice, counts Carries, families []corev1.IPFamily) plan.Backing {
	for _, slice := range carried {
		if len(slice.Ports) > 0 && anyReady(slice.Endpoints) {
			return plan.Backed
		}
	}
	if backing := BackingOf(sources, counts, families); backing != plan.Backed {
		return backing
	}
	return plan.NotCarried
}

func sourceOf(keys validation.Keys, slice *discoveryv1.EndpointSlice) string {
	return slice.Labels[keys.Source]
}
