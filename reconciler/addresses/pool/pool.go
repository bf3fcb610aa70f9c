package pool

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pool hands out addresses.
type Pool interface {
	// Ensure returns the addresses of a mux: those that it holds already, and new ones for families that it lacks. A
	// *Refusal says why the mux can't have one.
	Ensure(ctx context.Context, request Request) ([]netip.Addr, error)
	// Release gives back the addresses of a mux. It is no error if the mux has none.
	Release(ctx context.Context, mux types.NamespacedName) error
	// List returns the addresses that muxes have, sorted by mux.
	List(ctx context.Context) ([]Holding, error)
	// Expose lets a gateway answer for an address, where the network needs to be told.
	Expose(ctx context.Context, address netip.Addr, gateway string) error
}

// Request is what a mux asks for.
type Request struct {
	Mux types.NamespacedName
	// Families are the IP families that the mux needs, one address each.
	Families []corev1.IPFamily
	// Wanted are addresses that the mux's owner asks for, at most one of a family.
	Wanted []netip.Addr
}

// Holding are the addresses of a mux.
type Holding struct {
	Mux       types.NamespacedName
	Addresses []netip.Addr
}

// Reason is why a pool refuses.
type Reason string

// The reasons of refusals.
const (
	Full    Reason = "PoolFull"         // no free address of a family
	Outside Reason = "AddressOutside"   // the wanted address isn't the pool's
	Taken   Reason = "AddressTaken"     // another mux has the wanted address
	Bad     Reason = "BadAddressRanges" // any other error of the pool
)

// Refusal is an answer that stays the same until the pool or the request changes.
type Refusal struct {
	Reason Reason
	// Message names the value and the way out.
	Message string
}

func (r *Refusal) Error() string { return r.Message }
