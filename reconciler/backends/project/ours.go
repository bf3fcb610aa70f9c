package project

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

const (
	maxLabelValue   = 63
	maxSliceName    = 253
	sliceNameDigits = 20
	labelDigits     = 8
)

// MirroringController is the managed-by label of the slices that Kubernetes makes of an Endpoints object.
const MirroringController = "endpointslicemirroring-controller.k8s.io"

// IsOurSlice is true for a slice that looks like ours, also if another writer removed our label. Kubernetes copies the
// annotations of the original's Endpoints to the slices that it makes of them: those aren't ours.
func IsOurSlice(keys validation.Keys, slice *discoveryv1.EndpointSlice) bool {
	switch slice.Labels[discoveryv1.LabelManagedBy] {
	case ManagedBy(keys):
		return true
	case MirroringController:
		return false
	}
	return slice.Annotations[keys.Managed] == "true"
}

// OwnersOfSlice returns the UIDs of the Services that own a slice. A slice is ours only if its mux is among them. An
// owner must be in the slice's namespace, so a tenant without rights there can't forge such a slice.
func OwnersOfSlice(slice *discoveryv1.EndpointSlice) []types.UID {
	var owners []types.UID
	for i := range slice.OwnerReferences {
		if owner := &slice.OwnerReferences[i]; owner.Kind == "Service" && owner.APIVersion == "v1" {
			owners = append(owners, owner.UID)
		}
	}
	return owners
}

// ChannelOfSlice returns the channel that a slice of ours names; false if it names none.
func ChannelOfSlice(keys validation.Keys, slice *discoveryv1.EndpointSlice) (types.NamespacedName, bool) {
	channel := types.NamespacedName{
		Namespace: slice.Labels[keys.ChannelNamespace],
		Name:      strings.ReplaceAll(slice.Labels[keys.ChannelName], slash, "/"),
	}
	return channel, channel.Namespace != "" && channel.Name != "" && IsOurSlice(keys, slice)
}

// slash stands for a slash in labels. No object has it in its name.
const slash = "_"

// LabelOf returns a channel's name as a label's value.
func LabelOf(channel string) string { return strings.ReplaceAll(channel, "/", slash) }

// MuxOfSlice returns the mux that a slice of ours belongs to. Data planes read the label. If another writer removed the
// label, the annotation still names the mux.
func MuxOfSlice(keys validation.Keys, slice *discoveryv1.EndpointSlice) types.NamespacedName {
	if name := slice.Labels[discoveryv1.LabelServiceName]; name != "" {
		return types.NamespacedName{Namespace: slice.Namespace, Name: name}
	}
	_, name, _ := strings.Cut(slice.Annotations[keys.Mux], "/")
	return types.NamespacedName{Namespace: slice.Namespace, Name: name}
}

// HasOwnName is true for a slice of ours whose name fits its labels. A slice with another name was copied, or another
// writer changed its labels: it may be another channel's. If the label has only a part of the source's name, the name
// can't be checked, and counts as fitting.
func HasOwnName(keys validation.Keys, slice *discoveryv1.EndpointSlice) bool {
	channel, told := ChannelOfSlice(keys, slice)
	source := slice.Labels[keys.Source]
	return told && (len(source) == maxLabelValue ||
		slice.Name == SliceName(MuxOfSlice(keys, slice), channel, source, slice.AddressType))
}

// RecordsOf returns which channel our slices carry under each port name of a mux. After the loss of a ledger, they tell
// whose a port is. A name under which they carry two channels is left out.
func RecordsOf(keys validation.Keys, list []*discoveryv1.EndpointSlice) map[string]types.NamespacedName {
	records := map[string]types.NamespacedName{}
	for _, slice := range list {
		channel, ok := ChannelOfSlice(keys, slice)
		for _, port := range slice.Ports {
			if !ok || port.Name == nil || *port.Name == "" {
				continue
			}
			before, known := records[*port.Name]
			if records[*port.Name] = channel; known && before != channel {
				records[*port.Name] = types.NamespacedName{}
			}
		}
	}
	maps.DeleteFunc(records, func(_ string, channel types.NamespacedName) bool { return channel.Name == "" })
	return records
}

// SliceName returns the name of the slice that carries a source on a mux. Equal channel names in two namespaces get
// different names, and so does a source that was recreated with another address type, because a slice can't change its
// type.
func SliceName(mux, channel types.NamespacedName, source string, addresses discoveryv1.AddressType) string {
	id := strings.Join([]string{mux.String(), channel.String(), source, string(addresses)}, "|")
	room := min(len(mux.Name), maxSliceName-1-sliceNameDigits)
	return strings.TrimRight(mux.Name[:room], "-.") + "-" + digits(id, sliceNameDigits)
}

// ManagedBy returns the value of the managed-by label of our slices.
func ManagedBy(keys validation.Keys) string {
	prefix, _, _ := strings.Cut(keys.Managed, "/")
	return shortened(prefix)
}

// shortened returns a name as a label's value. A name that is too long ends in digits of its hash.
func shortened(name string) string {
	if len(name) <= maxLabelValue {
		return name
	}
	return name[:maxLabelValue-1-labelDigits] + "-" + digits(name, labelDigits)
}

// digits returns the first hexadecimal digits of a hash.
func digits(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:n]
}
