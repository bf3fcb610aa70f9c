package slices

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

const (
	maxLabelValue   = 63
	maxSliceName    = 253
	sliceNameDigits = 20
	labelDigits     = 8
)

// slice is what carries one source on the mux. It shares endpoints with the source.
func (v *View) slice(source *discoveryv1.EndpointSlice, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v.Mux.Key.Namespace,
			Name:      SliceName(v.Mux.Key, v.Channel, source.Name, source.AddressType),
			Labels: map[string]string{
				discoveryv1.LabelServiceName: v.Mux.Key.Name,
				discoveryv1.LabelManagedBy:   ManagedBy(v.Keys),
				v.Keys.ChannelNamespace:      v.Channel.Namespace,
				v.Keys.ChannelName:           v.Channel.Name,
				v.Keys.Source:                shortened(source.Name),
			},
			Annotations: map[string]string{v.Keys.Managed: "true", v.Keys.Mux: v.Mux.Key.String()},
			// No controller: the mux doesn't manage it. No blockOwnerDeletion: that would need rights on finalizers,
			// and would hold up whoever deletes the mux.
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Service", Name: v.Mux.Key.Name, UID: v.Mux.UID,
			}},
		},
		AddressType: source.AddressType,
		Ports:       ports,
		Endpoints:   carriedEndpoints(source.Endpoints),
	}
}

// SliceName is the name of the slice that carries a source on a mux. It tells apart what could be mistaken for each
// other: channels of one name in two namespaces, and a source that was made anew with addresses of another type, which
// a slice can't change.
func SliceName(mux, channel types.NamespacedName, source string, addresses discoveryv1.AddressType) string {
	id := strings.Join([]string{mux.String(), channel.String(), source, string(addresses)}, "|")
	sum := sha256.Sum256([]byte(id))
	room := min(len(mux.Name), maxSliceName-1-sliceNameDigits)
	return strings.TrimRight(mux.Name[:room], "-.") + "-" + hex.EncodeToString(sum[:])[:sliceNameDigits]
}

// ManagedBy is who a slice says that it is managed by, if it is ours.
func ManagedBy(keys validation.Keys) string {
	prefix, _, _ := strings.Cut(keys.Managed, "/")
	return shortened(prefix)
}

// shortened returns a name as a label's value. One that is too long ends in a part of its hash.
func shortened(name string) string {
	if len(name) <= maxLabelValue {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:maxLabelValue-1-labelDigits] + "-" + hex.EncodeToString(sum[:])[:labelDigits]
}

// portKey is what a claim and a slice's port know each other by.
type portKey struct {
	name     string
	protocol corev1.Protocol
}

func comparePortKeys(a, b portKey) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.protocol, b.protocol))
}

// namesOf returns the names on the mux of each claimed port.
func namesOf(claims []plan.Claim) map[portKey][]string {
	names := make(map[portKey][]string, len(claims))
	for i := range claims {
		key := portKey{claims[i].Owner.Name, claims[i].Owner.Protocol}
		if !slices.Contains(names[key], claims[i].MuxName) {
			names[key] = append(names[key], claims[i].MuxName)
		}
	}
	return names
}

// carriedPorts returns the ports that are claimed, under their names on the mux. One without a name can't be told from
// others, and one without a number means all of a backend's: neither is a claim's.
func carriedPorts(ports []discoveryv1.EndpointPort, names muxNames) []discoveryv1.EndpointPort {
	var carried []discoveryv1.EndpointPort
	used := map[string]bool{}
	for _, port := range ports {
		key, named := keyOfPort(port)
		if !named || port.Port == nil {
			continue
		}
		for _, name := range names[key] {
			if used[name] {
				continue // the API server takes a name once, and would refuse the whole slice
			}
			used[name] = true
			carried = append(carried, discoveryv1.EndpointPort{Name: &name, Protocol: &key.protocol, Port: port.Port,
				AppProtocol: port.AppProtocol})
		}
	}
	return carried
}

func keyOfPort(port discoveryv1.EndpointPort) (portKey, bool) {
	key := portKey{protocol: corev1.ProtocolTCP}
	if port.Protocol != nil {
		key.protocol = *port.Protocol
	}
	if port.Name != nil {
		key.name = *port.Name
	}
	return key, key.name != ""
}

// carriedEndpoints returns endpoints in their order, without the old topology, which can't be written any more.
func carriedEndpoints(endpoints []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	if !slices.ContainsFunc(endpoints, func(e discoveryv1.Endpoint) bool { return e.DeprecatedTopology != nil }) {
		return endpoints
	}
	endpoints = slices.Clone(endpoints)
	for i := range endpoints {
		endpoints[i].DeprecatedTopology = nil
	}
	return endpoints
}

// basis is what slices are decided from beside their source.
func (v *View) basis(names muxNames) string {
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, v.Mux.Key, v.Mux.UID, v.Mux.Families)
	for _, key := range slices.SortedFunc(maps.Keys(names), comparePortKeys) {
		_, _ = fmt.Fprintln(hash, key.name, key.protocol, names[key])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// whyNot says why a slice of ours isn't wanted.
func (v *View) whyNot(slice *discoveryv1.EndpointSlice) string {
	mux := MuxOfSlice(v.Keys, slice)
	switch {
	case !v.Attached:
		return fmt.Sprintf("%s is no channel of %s", v.Channel, mux)
	case mux != v.Mux.Key:
		return fmt.Sprintf("%s is a channel of %s", v.Channel, v.Mux.Key)
	case !v.Mux.IsMux:
		return fmt.Sprintf("%s is no mux", mux)
	case len(v.Claims) == 0:
		return fmt.Sprintf("%s has no ports on the mux", v.Channel)
	}
	return "its source is gone, or has no port or address that the mux carries"
}

// isStray is true for a slice that needn't be this channel's, whatever its labels say: this process hasn't had it in
// place, and we wouldn't have named it so. Where the source's name is cut short, there is no telling.
func (v *View) isStray(slice *discoveryv1.EndpointSlice) (stray, sure bool) {
	if _, seen := v.InPlace[keyOf(slice)]; seen {
		return false, false
	}
	source := sourceOf(v.Keys, slice)
	if len(source) == maxLabelValue {
		return true, false
	}
	stray = slice.Name != SliceName(MuxOfSlice(v.Keys, slice), v.Channel, source, slice.AddressType)
	return stray, stray
}

func keyOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Name}
}

func sortedKeys[V any](m map[types.NamespacedName]V) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(m), plan.CompareKeys)
}

func sortedByName(list []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	return slices.SortedFunc(slices.Values(list), func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Compare(a.Name, b.Name)
	})
}
