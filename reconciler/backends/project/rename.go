package project

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// A rename of a channel's port reaches the slices and the claim at different times. Kubernetes writes the new name into
// the channel's slices, a pass over the mux writes it into the claim, and a frozen mux leaves the claim as it is. In
// between, no source port has the name that the claim has.
//
//	claim http │ source http    before the rename
//	claim http │ source web     the slices changed first: the Service's ports tell that web was http
//	claim web  │ source http    the claim changed first: our slice tells which backend port the claim had
//	claim web  │ source web     after the rename
//
// Decide judges each source slice separately. Kubernetes writes a channel's slices one after another, and a channel has
// a slice for each address family and for each hundred pods.

// muxNames are the names on the mux of each source port.
type muxNames map[portKey][]string

// muxNames returns the mux names of the ports of one source slice: those of its claims, and those of claims whose port
// was renamed.
func (v *View) muxNames(source *discoveryv1.EndpointSlice) muxNames {
	names, claims := muxNames{}, map[string]int{}
	for _, claim := range v.Claims {
		key, name := ownerKey(&claim), claim.MuxName
		claims[name]++
		if !slices.Contains(names[key], name) {
			names[key] = append(names[key], name)
		}
	}
	numbers := numbersOf(source)
	var renamed []plan.Claim
	for _, claim := range v.Claims {
		if _, has := numbers[ownerKey(&claim)]; !has && claims[claim.MuxName] == 1 {
			renamed = append(renamed, claim)
		}
	}
	if len(renamed) == 0 {
		return names
	}
	for key := range names {
		delete(numbers, key) // a port with a claim of its own isn't another claim's renamed port
	}
	slices.SortFunc(renamed, func(a, b plan.Claim) int { return cmp.Compare(a.MuxName, b.MuxName) })
	carried := map[portKey]int32{}
	for _, slice := range v.Carried {
		if slice.Name == SliceName(v.Mux.Key, v.Channel, source.Name, source.AddressType) {
			carried = numbersOf(slice)
		}
	}
	for i := range renamed {
		for _, key := range v.renamedPorts(&renamed[i], numbers, carried) {
			names[key] = append(names[key], renamed[i].MuxName)
		}
	}
	return names
}

// renamedPorts returns the source ports that can be the claim's port under another name.
func (v *View) renamedPorts(claim *plan.Claim, numbers, carried map[portKey]int32) []portKey {
	key := portKey{v.nameInSpec(claim), claim.Owner.Protocol}
	if _, has := numbers[key]; has {
		return []portKey{key}
	}
	var keys []portKey
	was, told := carried[portKey{claim.MuxName, claim.Owner.Protocol}]
	for key, number := range numbers {
		if told && key.protocol == claim.Owner.Protocol && number == was {
			keys = append(keys, key)
		}
	}
	return keys
}

// nameInSpec returns the name that the channel's Service now gives to the port with the claim's number. It is empty if
// the Service still has a port with the claim's name, or has no port with that number.
func (v *View) nameInSpec(claim *plan.Claim) string {
	name := ""
	for i := range v.Ports {
		port := &v.Ports[i]
		switch {
		case cmp.Or(port.Protocol, corev1.ProtocolTCP) != claim.Owner.Protocol:
		case port.Name == claim.Owner.Name:
			return ""
		case port.Port == claim.Port:
			name = port.Name
		}
	}
	return name
}

// numbersOf returns the backend port number of each named port of a slice.
func numbersOf(slice *discoveryv1.EndpointSlice) map[portKey]int32 {
	numbers := map[portKey]int32{}
	for _, port := range slice.Ports {
		if key, usable := keyOfPort(port); usable {
			numbers[key] = *port.Port
		}
	}
	return numbers
}

func ownerKey(claim *plan.Claim) portKey { return portKey{claim.Owner.Name, claim.Owner.Protocol} }
