package slices

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Difference says which parts of a slice aren't as they shall be. What others put beside ours is no difference.
type Difference struct {
	Labels, Annotations, Owners, Ports, Endpoints bool
	// Loses is true if a backend or a port goes.
	Loses bool
}

// Any is true if there is one.
func (d Difference) Any() bool {
	return d.Labels || d.Annotations || d.Owners || d.Ports || d.Endpoints
}

// compare says how a slice differs from what it shall be, and why in words.
func compare(is, want *discoveryv1.EndpointSlice) (Difference, []string) {
	var d Difference
	var why []string
	if text := compareValues("label", is.Labels, want.Labels); text != nil {
		d.Labels, why = true, append(why, text...)
	}
	if text := compareValues("annotation", is.Annotations, want.Annotations); text != nil {
		d.Annotations, why = true, append(why, text...)
	}
	if len(mergeOwners(is.OwnerReferences, want.OwnerReferences)) != len(is.OwnerReferences) ||
		!slices.ContainsFunc(is.OwnerReferences, func(o metav1.OwnerReference) bool {
			return sameOwner(o, want.OwnerReferences[0])
		}) {
		d.Owners, why = true, append(why, "its owner isn't the mux")
	}
	if !slices.EqualFunc(is.Ports, want.Ports, samePort) {
		d.Ports, why = true, append(why, fmt.Sprintf("ports %s, not %s", textPorts(want.Ports), textPorts(is.Ports)))
		d.Loses = len(want.Ports) < len(is.Ports)
	}
	if !slices.EqualFunc(is.Endpoints, want.Endpoints, sameEndpoint) {
		change := compareEndpoints(is.Endpoints, want.Endpoints)
		d.Endpoints, why = true, append(why, change.String())
		d.Loses = d.Loses || len(change.left) > 0
	}
	return d, why
}

func compareValues(what string, is, want map[string]string) []string {
	var why []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if value, set := is[key]; !set || value != want[key] {
			why = append(why, fmt.Sprintf("%s %s %q, not %q", what, key, want[key], value))
		}
	}
	return why
}

// mergeOwners keeps other owners. A Service of the mux's name is it, or was: an owner that is gone would have the slice
// collected.
func mergeOwners(is, want []metav1.OwnerReference) []metav1.OwnerReference {
	merged := slices.Clone(want)
	for _, owner := range is {
		if !slices.ContainsFunc(want, func(w metav1.OwnerReference) bool {
			return w.APIVersion == owner.APIVersion && w.Kind == owner.Kind && w.Name == owner.Name
		}) {
			merged = append(merged, owner)
		}
	}
	return merged
}

func sameOwner(a, b metav1.OwnerReference) bool {
	return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID &&
		same(a.Controller, b.Controller) && same(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func samePort(a, b discoveryv1.EndpointPort) bool {
	return same(a.Name, b.Name) && same(a.Protocol, b.Protocol) && same(a.Port, b.Port) && same(a.AppProtocol, b.AppProtocol)
}

// sameEndpoint compares all that is carried. A test fails if Kubernetes adds a field to an endpoint.
func sameEndpoint(a, b discoveryv1.Endpoint) bool {
	return slices.Equal(a.Addresses, b.Addresses) && sameConditions(a.Conditions, b.Conditions) &&
		same(a.Hostname, b.Hostname) && same(a.NodeName, b.NodeName) && same(a.Zone, b.Zone) &&
		same[corev1.ObjectReference](a.TargetRef, b.TargetRef) && sameHints(a.Hints, b.Hints)
}

func sameConditions(a, b discoveryv1.EndpointConditions) bool {
	return same(a.Ready, b.Ready) && same(a.Serving, b.Serving) && same(a.Terminating, b.Terminating)
}

// sameHints takes no hints for none: that is how they are stored.
func sameHints(a, b *discoveryv1.EndpointHints) bool {
	var none discoveryv1.EndpointHints
	if a == nil {
		a = &none
	}
	if b == nil {
		b = &none
	}
	return slices.Equal(a.ForZones, b.ForZones) && slices.Equal(a.ForNodes, b.ForNodes)
}
