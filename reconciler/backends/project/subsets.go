package project

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// Subsets returns our slices of a mux as the subsets of an Endpoints object. The subsets have no ports without a name,
// one address for each endpoint, and no condition beside readiness.
//
//nolint:staticcheck // deprecated, and written on request
func Subsets(list []*discoveryv1.EndpointSlice) []corev1.EndpointSubset {
	var subsets []corev1.EndpointSubset
	for _, slice := range sortedByName(list) {
		var subset corev1.EndpointSubset
		for _, port := range slice.Ports {
			if key, usable := keyOfPort(port); usable {
				subset.Ports = append(subset.Ports, corev1.EndpointPort{Name: key.name, Port: *port.Port,
					Protocol: key.protocol, AppProtocol: port.AppProtocol})
			}
		}
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			address := corev1.EndpointAddress{IP: firstAddress(e), Hostname: ptr.Deref(e.Hostname, ""),
				NodeName: e.NodeName, TargetRef: e.TargetRef}
			switch {
			case address.IP == "":
			case isReady(e):
				subset.Addresses = append(subset.Addresses, address)
			default:
				subset.NotReadyAddresses = append(subset.NotReadyAddresses, address)
			}
		}
		if len(subset.Ports) == 0 || len(subset.Addresses)+len(subset.NotReadyAddresses) == 0 {
			continue
		}
		slices.SortFunc(subset.Ports, func(a, b corev1.EndpointPort) int { return cmp.Compare(a.Name, b.Name) })
		subsets = append(subsets, subset)
	}
	return subsets
}
