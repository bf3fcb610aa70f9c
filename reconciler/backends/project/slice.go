package project

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// slice returns the slice that carries a source on the mux. It shares endpoints with the source.
func (v *View) slice(name string, source *discoveryv1.EndpointSlice,
	ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v.Mux.Key.Namespace,
			Name:      name,
			Labels: map[string]string{
				discoveryv1.LabelServiceName: v.Mux.Key.Name,
				discoveryv1.LabelManagedBy:   ManagedBy(v.Keys),
				v.Keys.ChannelNamespace:      v.Channel.Namespace,
				v.Keys.ChannelName:           LabelOf(v.Channel.Name),
				v.Keys.Source:                shortened(source.Name),
			},
			Annotations: v.annotations(source),
			// No controller, because the mux doesn't manage the slice. No blockOwnerDeletion, because it needs rights on
			// finalizers and delays the deletion of the mux.
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: v.Mux.Key.Name, UID: v.Mux.UID}},
		},
		AddressType: source.AddressType,
		Ports:       ports,
		Endpoints:   carriedEndpoints(source.Endpoints),
	}
}

// MaxSourceRanges is how many bytes of source ranges a slice can bring. If there are more, the slice brings none, and
// gateways don't open the channel.
const MaxSourceRanges = 16 << 10

// annotations returns the annotations of a carried slice.
func (v *View) annotations(source *discoveryv1.EndpointSlice) map[string]string {
	all := map[string]string{v.Keys.Managed: "true", v.Keys.Mux: v.Mux.Key.String()}
	if v.Mux.OnGateways {
		ranges := make([]string, len(v.Settings.SourceRanges))
		for i, text := range v.Settings.SourceRanges {
			ranges[i] = strings.TrimSpace(text)
		}
		slices.Sort(ranges)
		if text := strings.Join(slices.Compact(ranges), ","); len(text) <= MaxSourceRanges {
			all[v.Keys.SourceRanges] = text
		}
		if weight := source.Annotations[v.Keys.Weight]; weight != "" {
			all[v.Keys.Weight] = weight
		}
		all[v.Keys.SessionAffinity] = string(cmp.Or(v.Settings.Affinity, corev1.ServiceAffinityNone))
		all[v.Keys.TrafficPolicy] = string(cmp.Or(v.Settings.TrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster))
	}
	return all
}

func keyOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Name}
}

func sortedByName(list []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	return slices.SortedFunc(slices.Values(list), func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Compare(a.Name, b.Name)
	})
}

// portKey identifies a port of a channel in a claim and in a slice.
type portKey struct {
	name     string
	protocol corev1.Protocol
}

// keyOfPort returns the key of a slice's port; false if no claim can be for the port. A port without a name can't be
// told from others. A port without a number stands for all ports of an endpoint.
func keyOfPort(port discoveryv1.EndpointPort) (portKey, bool) {
	key := portKey{ptr.Deref(port.Name, ""), ptr.Deref(port.Protocol, corev1.ProtocolTCP)}
	return key, key.name != "" && port.Port != nil
}

// carriedPorts returns the claimed ports of a source slice under their names on the mux. It uses each name once: the
// API server refuses a slice with a name twice.
func carriedPorts(ports []discoveryv1.EndpointPort, names muxNames) []discoveryv1.EndpointPort {
	var carried []discoveryv1.EndpointPort
	used := map[string]bool{}
	for _, port := range ports {
		key, usable := keyOfPort(port)
		if !usable {
			continue
		}
		for _, name := range names[key] {
			if !used[name] {
				used[name] = true
				carried = append(carried, discoveryv1.EndpointPort{Name: &name, Protocol: &key.protocol, Port: port.Port,
					AppProtocol: port.AppProtocol})
			}
		}
	}
	return carried
}

// carriedEndpoints returns the endpoints of a source without their deprecated topology, which the API server refuses.
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
