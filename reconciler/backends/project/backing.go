package project

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// BackingOf returns whether a channel's slices have a ready endpoint for one of its ports, and whether a mux with these
// families can reach that endpoint. It looks at ports and not at claims, which may not be decided yet. A listener of a
// Gateway has no ports here: its slices have no port but its own.
func BackingOf(sources []*discoveryv1.EndpointSlice, ports []corev1.ServicePort,
	families []corev1.IPFamily) plan.Backing {
	backing := plan.Unbacked
	for _, source := range sources {
		if !hasReady(source) ||
			!slices.ContainsFunc(source.Ports, func(p discoveryv1.EndpointPort) bool { return isAmong(ports, p) }) {
			continue
		}
		if carries(families, source.AddressType) {
			return plan.Backed
		}
		backing = plan.OtherFamily
	}
	return backing
}

// CarriedBacking returns whether the mux has a ready endpoint of a channel. If it has none, the result says why, as far
// as the channel's own slices tell.
func CarriedBacking(carried, sources []*discoveryv1.EndpointSlice, ports []corev1.ServicePort,
	families []corev1.IPFamily) plan.Backing {
	for _, slice := range carried {
		if len(slice.Ports) > 0 && hasReady(slice) {
			return plan.Backed
		}
	}
	if backing := BackingOf(sources, ports, families); backing != plan.Backed {
		return backing
	}
	return plan.NotCarried
}

// hasReady is true for a slice with a ready endpoint. Data planes ignore slices of host names.
func hasReady(slice *discoveryv1.EndpointSlice) bool {
	return slice != nil && carries(nil, slice.AddressType) &&
		slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return isReady(&e) })
}

// isReady treats an endpoint without the condition as ready, as Kubernetes asks of readers.
func isReady(e *discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }

func isAmong(ports []corev1.ServicePort, port discoveryv1.EndpointPort) bool {
	key, usable := keyOfPort(port)
	return usable && (len(ports) == 0 || slices.ContainsFunc(ports, func(p corev1.ServicePort) bool {
		return p.Name == key.name && cmp.Or(p.Protocol, corev1.ProtocolTCP) == key.protocol
	}))
}

// carries is true for IP addresses of one of the families; of any family if none is known.
func carries(families []corev1.IPFamily, t discoveryv1.AddressType) bool {
	isIP := t == discoveryv1.AddressTypeIPv4 || t == discoveryv1.AddressTypeIPv6
	return isIP && (len(families) == 0 || slices.Contains(families, corev1.IPFamily(t)))
}
