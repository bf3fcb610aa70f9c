package snapshot

import (
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"

	"nowake.ai/svc-lb-mux/balancer/lease"
)

// lease hashes the names in the Lease of a gateway. A gateway often has the name of a node. The holder goes, since it
// contains that name, too.
func (h *hashing) lease(found *coordinationv1.Lease) {
	keys := h.language.Keys()
	gateway, is := lease.Read(found, keys)
	if !is {
		return
	}
	gateway.Name, gateway.Holder = h.name(gateway.Name), ""
	for key, value := range gateway.Labels {
		gateway.Labels[key] = h.value(value)
	}
	if gateway.Facts != nil {
		gateway.Facts.Node, gateway.Facts.Zone = h.name(gateway.Facts.Node), h.name(gateway.Facts.Zone)
	}
	if gateway.Report != nil {
		h.refusals(gateway.Report.Faults)
		for i := range gateway.Report.Muxes {
			h.refusals(gateway.Report.Muxes[i].Refused)
		}
	}
	found.Annotations = nil
	if gateway.Write(found, keys) != nil { // a Lease that somebody else made
		found.Name, found.Labels = lease.Name(gateway.Name), map[string]string{keys.Pool: gateway.Pool}
	}
}

func (h *hashing) refusals(list []lease.Refusal) {
	for i := range list {
		list[i].Message = h.text(list[i].Message)
	}
}

// gateways hashes a list of gateways.
func (h *hashing) gateways(list string) string {
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = h.name(names[i])
	}
	return strings.Join(names, ",")
}
