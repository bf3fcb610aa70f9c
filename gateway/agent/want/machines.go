package want

import (
	"cmp"
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/gateway/claims"
)

const onGateway = "it is an address of another gateway: run backends on other machines, or in the pod network"

// isOnGateway is true for an endpoint on another gateway's node with an address of that gateway. That gateway doesn't use it either, so that
// all gateways choose the same backends. A gateway itself says which addresses are its own: so its word is about its own node only, and can't
// take backends on other nodes from anybody.
func (d *deciding) isOnGateway(e *discoveryv1.Endpoint, a netip.Addr) bool {
	if e.NodeName == nil {
		return false
	}
	at, found := slices.BinarySearchFunc(d.Claims.Gateways, *e.NodeName, func(g claims.Gateway, name string) int { return cmp.Compare(g.Name, name) })
	return found && slices.Contains(d.Claims.Gateways[at].Addresses, a)
}
