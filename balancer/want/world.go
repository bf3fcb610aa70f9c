package want

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/validation"
)

// List is a list from the API server. An unread list isn't an empty one.
type List[T any] struct {
	Items  []T
	IsRead bool
}

// World is what an agent knows.
type World struct {
	Keys     validation.Keys
	Settings Settings
	// Claims are those of the agent's pool, the last ones that could be decoded; nil before the first ones.
	Claims *claims.Claims
	// Muxes are the muxes of all pools in the mux namespaces.
	Muxes List[*corev1.Service]
	// Slices are those of our EndpointSlices in the mux namespaces that have a mux.
	Slices List[*Slice]
	// Before is what the last decision wanted, also one before a restart; nil if that isn't known.
	Before *Wanted
}

// ReturnPath is how backends' replies find the gateway.
type ReturnPath string

// The return paths.
const (
	ViaNode    ReturnPath = "node"    // backends see the gateway's own address
	ViaRouted  ReturnPath = "routed"  // backends see the mux's address
	ViaGateway ReturnPath = "gateway" // backends see the client's address, and the gateway is their router
)

// Settings are those of this machine.
type Settings struct {
	// Gateway is this gateway's name in the claims.
	Gateway string
	// Own are all addresses of this machine but those that it carries for muxes. No backend may have one of them.
	Own []netip.Addr
	// Source are the addresses that backends see with the return path node, at most one of a family. Without one, backends
	// see the address of the interface through which packets leave.
	Source     []netip.Addr
	ReturnPath ReturnPath
	// Node is the cluster's Node that this machine is; empty for a machine beside the cluster.
	Node string
	// BackendNetworks are the only networks that backends may be in. Without any, backends may be in every network.
	BackendNetworks []netip.Prefix
	// Probes is true if backends are probed.
	Probes bool
}

// Wanted is what this gateway's kernel must hold.
type Wanted struct {
	Tables Tables
	// Seats are sorted by router ID.
	Seats []Seat
}

// Seat is a virtual router that this gateway takes part in.
type Seat struct {
	RouterID uint8
	// Priority is from 1 to 254. The first gateway of the order has the highest one.
	Priority uint8
	// Peers are the addresses of the other gateways in the order, and Others is how many they are. If Others is 0, no
	// gateway can take the seat from this one.
	Peers  []netip.Addr
	Others int
	// Addresses are those of the muxes with this seat, sorted.
	Addresses []netip.Addr
	// Adverts are the intervals that the claims name; zero without any.
	Adverts claims.Adverts
}

// Decision has the wanted tables and seats, and the refusals.
type Decision struct {
	// Wanted is nil if nothing can be decided and nothing was known before: then the kernel must stay as it is.
	Wanted *Wanted
	// Unread says what must be read before anything can be decided. Then Wanted is the former decision.
	Unread []string
	// Refusals are sorted.
	Refusals []Refusal
	// Backends are those to probe: every usable TCP backend, also one that is down, so that a probe notices its return.
	Backends map[Backend]bool
}
