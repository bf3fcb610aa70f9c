package want

import (
	"net/netip"
	"unique"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/validation"
)

// Slice is what is used of an EndpointSlice. Agents keep many endpoints, so one takes little memory.
type Slice struct {
	metav1.ObjectMeta
	AddressType discoveryv1.AddressType
	Ports       []discoveryv1.EndpointPort
	Endpoints   []Endpoint
	// Unreadable is an address that can't be read; empty if all can.
	Unreadable string
}

// Endpoint is an endpoint that gets connections.
type Endpoint struct {
	// Address is invalid if it can't be read.
	Address netip.Addr
	// IsDraining is true for an endpoint that still serves while it terminates, and isn't ready.
	IsDraining bool
	// Node is the endpoint's node; empty if that isn't known.
	Node string
}

// ReadSlice reads a slice.
func ReadSlice(from *discoveryv1.EndpointSlice) *Slice {
	s := &Slice{ObjectMeta: from.ObjectMeta, AddressType: from.AddressType, Ports: from.Ports}
	s.Endpoints = make([]Endpoint, 0, len(from.Endpoints))
	for i := range from.Endpoints {
		e := &from.Endpoints[i]
		isReady, isDraining := stateOf(&e.Conditions)
		if !isReady && !isDraining || len(e.Addresses) == 0 {
			continue
		}
		address, err := netip.ParseAddr(e.Addresses[0])
		if text := e.Addresses[0]; err != nil && (s.Unreadable == "" || text < s.Unreadable) {
			s.Unreadable = text
		}
		node := unique.Make(ptr.Deref(e.NodeName, "")).Value() // endpoints share the name of their node
		s.Endpoints = append(s.Endpoints, Endpoint{address, isDraining, node})
	}
	return s
}

// stateOf returns whether an endpoint gets connections. Without the condition ready, an endpoint is ready.
func stateOf(is *discoveryv1.EndpointConditions) (isReady, isDraining bool) {
	isReady = is.Ready == nil || *is.Ready
	return isReady, !isReady && is.Serving != nil && *is.Serving && is.Terminating != nil && *is.Terminating
}

// mux returns the mux of a slice; false if the slice isn't ours.
func (s *Slice) mux(keys validation.Keys) (types.NamespacedName, bool) {
	meta := &discoveryv1.EndpointSlice{ObjectMeta: s.ObjectMeta}
	return project.MuxOfSlice(keys, meta), project.IsOurSlice(keys, meta)
}

func (s *Slice) owners() []types.UID {
	return project.OwnersOfSlice(&discoveryv1.EndpointSlice{ObjectMeta: s.ObjectMeta})
}
