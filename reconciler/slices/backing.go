package slices

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Carries says if a port of a channel counts, by its name and protocol.
type Carries func(name string, protocol corev1.Protocol) bool

// CarriedIn counts the ports that a channel has, for one whose claims aren't decided yet.
func CarriedIn(ports []validation.ChannelPort) Carries {
	return func(name string, protocol corev1.Protocol) bool {
		return slices.ContainsFunc(ports, func(p validation.ChannelPort) bool {
			return p.Name == name && p.Protocol == protocol
		})
	}
}

// BackingOf says whether a channel's slices have backends that a mux with addresses of such families reaches. A backend
// that isn't ready is none.
func BackingOf(sources []*discoveryv1.EndpointSlice, counts Carries, families []corev1.IPFamily) plan.Backing {
	return backingOf(sources, families, func(source *discoveryv1.EndpointSlice) bool { return anyCounts(source.Ports, counts) })
}

func backingOf(sources []*discoveryv1.EndpointSlice, families []corev1.IPFamily, counts func(*discoveryv1.EndpointSlice) bool) plan.Backing {
	backing := plan.Unbacked
	for _, source := range sources {
		if !isIP(source.AddressType) || !anyReady(source.Endpoints) || !counts(source) {
			continue
		}
		if carries(families, source.AddressType) {
			return plan.Backed
		}
		backing = plan.OtherFamily
	}
	return backing
}

// Edge is true if a change of a source slice can change its channel's plan.Backing; either may be nil. Whoever needs no more
// than that isn't to be woken by each pod.
func Edge(old, now *discoveryv1.EndpointSlice) bool {
	before, after := gistOf(old), gistOf(now)
	return before.ready != after.ready || before.service != after.service || before.addresses != after.addresses ||
		!slices.Equal(before.ports, after.ports)
}

// gist is what a slice contributes to a channel's plan.Backing: nothing at all, unless something in it is ready.
type gist struct {
	ready     bool
	service   string
	addresses discoveryv1.AddressType
	ports     []portKey
}

func gistOf(slice *discoveryv1.EndpointSlice) gist {
	if slice == nil || !isIP(slice.AddressType) || !anyReady(slice.Endpoints) {
		return gist{}
	}
	g := gist{ready: true, service: slice.Labels[discoveryv1.LabelServiceName], addresses: slice.AddressType}
	for _, port := range slice.Ports {
		if key, counts := keyOfPort(port); counts && port.Port != nil {
			g.ports = append(g.ports, key)
		}
	}
	return g
}

func anyReady(endpoints []discoveryv1.Endpoint) bool {
	return slices.ContainsFunc(endpoints, func(e discoveryv1.Endpoint) bool { return isReady(&e) })
}

// isReady takes what isn't said for a yes, as Kubernetes asks consumers to.
func isReady(e *discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }

func anyCounts(ports []discoveryv1.EndpointPort, counts Carries) bool {
	return slices.ContainsFunc(ports, func(p discoveryv1.EndpointPort) bool {
		key, named := keyOfPort(p)
		return named && p.Port != nil && counts(key.name, key.protocol)
	})
}

func isIP(t discoveryv1.AddressType) bool {
	return t == discoveryv1.AddressTypeIPv4 || t == discoveryv1.AddressTypeIPv6
}

// carries is true for addresses of a family that the mux has. Names are no addresses: data planes don't look at them.
func carries(families []corev1.IPFamily, t discoveryv1.AddressType) bool {
	return isIP(t) && (len(families) == 0 || slices.Contains(families, corev1.IPFamily(t)))
}
