package project

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// compare returns how a slice differs from the wanted one, and whether an endpoint or a port must go. why is nil if
// they don't differ. Labels, annotations and owners that other writers added are no difference.
func compare(is, want *discoveryv1.EndpointSlice) (why []string, loses bool) {
	why = append(why, compareValues("label", is.Labels, want.Labels)...)
	why = append(why, compareValues("annotation", is.Annotations, want.Annotations)...)
	if !slices.Contains(OwnersOfSlice(is), want.OwnerReferences[0].UID) {
		why = append(why, "its owner isn't the mux")
	}
	if !slices.EqualFunc(is.Ports, want.Ports, samePort) {
		why = append(why, fmt.Sprintf("ports %s, not %s", textPorts(want.Ports), textPorts(is.Ports)))
		loses = len(want.Ports) < len(is.Ports)
	}
	if !slices.EqualFunc(is.Endpoints, want.Endpoints, sameEndpoint) {
		text, left := compareEndpoints(is.Endpoints, want.Endpoints)
		why, loses = append(why, text), loses || left
	}
	return why, loses
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

func samePort(a, b discoveryv1.EndpointPort) bool {
	return ptr.Equal(a.Name, b.Name) && ptr.Equal(a.Protocol, b.Protocol) && ptr.Equal(a.Port, b.Port) &&
		ptr.Equal(a.AppProtocol, b.AppProtocol)
}

// sameEndpoint compares every field that is carried. A test fails if Kubernetes adds a field to endpoints.
func sameEndpoint(a, b discoveryv1.Endpoint) bool {
	return slices.Equal(a.Addresses, b.Addresses) && sameConditions(a.Conditions, b.Conditions) &&
		ptr.Equal(a.Hostname, b.Hostname) && ptr.Equal(a.NodeName, b.NodeName) && ptr.Equal(a.Zone, b.Zone) &&
		ptr.Equal(a.TargetRef, b.TargetRef) && sameHints(a.Hints, b.Hints)
}

func sameConditions(a, b discoveryv1.EndpointConditions) bool {
	return ptr.Equal(a.Ready, b.Ready) && ptr.Equal(a.Serving, b.Serving) && ptr.Equal(a.Terminating, b.Terminating)
}

// sameHints treats empty hints and no hints as equal, because the API server stores them alike.
func sameHints(a, b *discoveryv1.EndpointHints) bool {
	a, b = cmp.Or(a, &discoveryv1.EndpointHints{}), cmp.Or(b, &discoveryv1.EndpointHints{})
	return slices.Equal(a.ForZones, b.ForZones) && slices.Equal(a.ForNodes, b.ForNodes)
}

// fewAddresses is how many addresses a message names.
const fewAddresses = 3

// compareEndpoints returns how two lists of endpoints differ, and whether an endpoint left. It identifies an endpoint
// by its first address.
func compareEndpoints(is, want []discoveryv1.Endpoint) (text string, loses bool) {
	before := make(map[string]*discoveryv1.Endpoint, len(is))
	for i := range is {
		before[firstAddress(&is[i])] = &is[i]
	}
	var came, changed []string
	for i := range want {
		address := firstAddress(&want[i])
		old := before[address]
		delete(before, address)
		switch {
		case old == nil:
			came = append(came, address)
		case !sameEndpoint(*old, want[i]):
			changed = append(changed, address)
		}
	}
	left := slices.Sorted(maps.Keys(before))
	parts := slices.Concat(few(came, "came"), few(left, "left"), few(changed, "changed"))
	return cmp.Or(strings.Join(parts, ", "), "endpoints are in another order"), len(left) > 0
}

func few(list []string, verb string) []string {
	switch more := len(list) - fewAddresses; {
	case len(list) == 0:
		return nil
	case more > 0:
		return []string{fmt.Sprintf("%s and %d more %s", strings.Join(list[:fewAddresses], " "), more, verb)}
	}
	return []string{strings.Join(list, " ") + " " + verb}
}

func firstAddress(e *discoveryv1.Endpoint) string {
	if len(e.Addresses) == 0 {
		return ""
	}
	return e.Addresses[0]
}
