package decide

import (
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
)

// World holds all facts about one pool that a decision needs.
type World struct {
	Pool   config.Pool
	Stored Stored
	// Pools are the addresses of all pools: each pool's claims have them.
	Pools claims.Ranges
	// Muxes are those of the pool, from a full list.
	Muxes []Mux
	// Others are the muxes of other pools and of unknown pools, and the Services that are no muxes.
	Others []Mux
	// Gateways are those whose Lease names the pool, sorted by name.
	Gateways []Gateway
	// IsLive is true if muxes and gateways come from live lists of the API server, instead of a cache.
	IsLive bool
	// Namespaces are those whose muxes are read; every namespace if empty.
	Namespaces []string
	// Elsewhere are the addresses that no mux of this pool may get: those in the claims of other pools.
	Elsewhere []Reserved
	// Missing are the muxes with a claim that live lists lacked, and when the first of these lists was read. The empty
	// name stands for all muxes, while there are no claims.
	Missing map[types.NamespacedName]time.Time
	// Deleted are the muxes whose deletion a watch told, with their UIDs. That proves more than absence from a list.
	Deleted map[types.NamespacedName]types.UID
	Now     time.Time
}

// Stored are the claims in the pool's ConfigMap.
type Stored struct {
	// Claims are nil if there is no ConfigMap, or if it can't be read.
	Claims *claims.Claims
	// Version is the ConfigMap's version.
	Version lease.Version
	// Problem says why the ConfigMap can't be read, and the way out.
	Problem string
	// MayRebuild is true once no other controller can believe that it still leads.
	MayRebuild bool
}

// Gateway is a gateway and its health.
type Gateway struct {
	lease.Gateway
	// IsLive is true if the Lease was renewed in time.
	IsLive bool
}

// Reserved is an address that is taken.
type Reserved struct {
	Address netip.Addr
	// Holder describes the address's holder, for messages.
	Holder string
}

// reads is true if muxes of the namespace are read.
func (w *World) reads(namespace string) bool {
	return len(w.Namespaces) == 0 || slices.Contains(w.Namespaces, namespace)
}
