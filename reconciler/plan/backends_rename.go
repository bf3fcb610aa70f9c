package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// A rename of a channel's port reaches the slices and the claim at different times. Kubernetes writes the new name into
// the channel's slices, a pass over the mux writes it into the claim, and a frozen mux leaves the claim as it is. In
// between, no source port has the name that the claim has.
//
//	claim http │ source http    before the rename
//	claim http │ source web     the slices changed first: the Service's ports tell that web was http
//	claim web  │ source http    the claim changed first: our slice tells which backend port the claim had
//	claim web  │ source web     after the rename

// muxNames are the names on the mux of each source port.
type muxNames map[portKey][]string

// muxNames returns the mux names of each source port: those of its claims, and those of claims whose port was renamed.
func (v *View) muxNames() muxNames {
	names := muxNames(namesOf(v.Claims))
	numbers := v.sourceNumbers()
	var renamed []Claim
	for _, claim := range v.Claims {
		if numbers[ownerKey(&claim)] == nil {
			renamed = append(renamed, claim)
		}
	}
	if len(renamed) == 0 {
		return names
	}
	for key := range names {
		delete(numbers, key) // a port with a claim of its own isn't another claim's renamed port
	}
	slices.SortFunc(renamed, compareClaims)
	for i := range renamed {
		for _, key := range v.renamedPorts(&renamed[i], numbers) {
			names[key] = append(names[key], renamed[i].MuxName)
		}
	}
	return names
}

// renamedPorts returns the source ports that can be the claim's port under another name.
func (v *View) renamedPorts(claim *Claim, numbers map[portKey][]int32) []portKey {
	key := portKey{v.nameInSpec(claim), claim.Owner.Protocol}
	if numbers[key] != nil {
		return []portKey{key}
	}
	var keys []portKey
	carried := v.carriedNumbers(claim)
	for key, has := range numbers {
		if key.protocol == claim.Owner.Protocol && slices.ContainsFunc(has, func(n int32) bool { return slices.Contains(carried, n) }) {
			keys = append(keys, key)
		}
	}
	return keys
}

// nameInSpec returns the name that the channel's Service now gives to the port with the claim's number; empty if the
// Service has the claim's name still, or no such port.
func (v *View) nameInSpec(claim *Claim) string {
	name := ""
	for i := range v.Ports {
		port := &v.Ports[i]
		switch {
		case protocolOf(port) != claim.Owner.Protocol:
		case port.Name == claim.Owner.Name:
			return ""
		case port.Port == claim.Port:
			name = port.Name
		}
	}
	return name
}

// sourceNumbers returns the backend port numbers of each named port in the channel's slices.
func (v *View) sourceNumbers() map[portKey][]int32 {
	numbers := map[portKey][]int32{}
	for _, source := range v.Sources {
		if v.isCarried(source) {
			for _, port := range source.Ports {
				if key, named := keyOfPort(port); named && port.Port != nil {
					numbers[key] = append(numbers[key], *port.Port)
				}
			}
		}
	}
	return numbers
}

// isCarried is true for a slice of the channel that a slice on the mux must carry, if it has a claimed port.
func (v *View) isCarried(source *discoveryv1.EndpointSlice) bool {
	return !IsOurSlice(v.Keys, source) && carries(v.Mux.Families, source.AddressType)
}

// carriedNumbers returns the backend port numbers that our slices have under the claim's name on the mux.
func (v *View) carriedNumbers(claim *Claim) []int32 {
	var numbers []int32
	for _, slice := range v.Slices {
		for _, port := range slice.Ports {
			key, named := keyOfPort(port)
			if named && port.Port != nil && key == (portKey{claim.MuxName, claim.Owner.Protocol}) {
				numbers = append(numbers, *port.Port)
			}
		}
	}
	return numbers
}

func ownerKey(claim *Claim) portKey { return portKey{claim.Owner.Name, claim.Owner.Protocol} }

// protocolOf returns TCP where a Service says nothing, as the API server does.
func protocolOf(port *corev1.ServicePort) corev1.Protocol {
	if port.Protocol == "" {
		return corev1.ProtocolTCP
	}
	return port.Protocol
}
