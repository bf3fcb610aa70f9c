package explain

import (
	"net/netip"
	"slices"
	"strings"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
)

// markUnreached notes at each backend over TCP which gateways can't connect to it. Without the right to list Leases,
// there are no gateways to ask.
func markUnreached(c *view.Chain, gateways []lease.Gateway) {
	for i := range c.Ports {
		for j := range c.Ports[i].Backends {
			b := &c.Ports[i].Backends[j]
			address, err := netip.ParseAddr(b.Address)
			if err != nil || c.Ports[i].Protocol != "TCP" {
				continue
			}
			var names []string
			for k := range gateways {
				if gateways[k].Report.Fails(netip.AddrPortFrom(address, uint16(b.Port))) {
					names = append(names, gateways[k].Name)
				}
			}
			slices.Sort(names)
			b.Unreached = strings.Join(names, ", ")
		}
	}
}
