package want

import (
	"cmp"
	"slices"

	"nowake.ai/svc-lb-mux/balancer/claims"
)

const onGateway = "it is an address of another gateway: run backends on other machines, or in the pod network"

// isOnGateway is true for an endpoint on another gateway's node with an address of that gateway. That gateway doesn't
// use it either, so that all gateways choose the same backends. A gateway itself says which addresses are its own: so
// its word is about its own node only, and can't take backends on other nodes from anybody.
func (d *deciding) isOnGateway(e Endpoint) bool {
	at, found := slices.BinarySearchFunc(d.Claims.Gateways, e.Node, func(g claims.Gateway, name string) int {
		return cmp.Compare(g.Name, name)
	})
	return found && slices.Contains(d.Claims.Gateways[at].Addresses, e.Address)
}

// isNear is true for an endpoint on this gateway's node.
func (d *deciding) isNear(e Endpoint) bool { return e.Node != "" && e.Node == d.Settings.Node }
