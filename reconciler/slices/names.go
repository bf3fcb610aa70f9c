package slices

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
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

// SliceName returns the name of the slice that carries a source on a mux. Equal channel names in two namespaces get different
// names, and so does a source that was recreated with another address type, because a slice can't change its type.
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

func keyOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Name}
}

func sortedByName(list []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	return slices.SortedFunc(slices.Values(list), func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Compare(a.Name, b.Name)
	})
}
