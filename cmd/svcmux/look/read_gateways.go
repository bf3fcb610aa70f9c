package look

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
)

// readGateways reads the Leases of gateways in all namespaces.
func (r *reading) readGateways(ctx context.Context) error {
	if !r.ask.Gateways {
		return nil
	}
	var list coordinationv1.LeaseList
	keys := r.Language.Keys()
	_, err := r.cluster.JSONList(ctx, "/apis/coordination.k8s.io/v1/leases", keys.Pool, &list)
	if kube.IsForbidden(err) {
		r.Unread.Gateways = "The traffic is left out: " + Unavailable("you may not list Leases in all namespaces", err) + "."
		return nil
	}
	if err != nil {
		return err
	}
	r.Gateways, r.Unread.Gateways = nil, ""
	for i := range list.Items {
		if g, is := lease.Read(&list.Items[i], keys); is {
			r.Gateways = append(r.Gateways, g)
		}
	}
	return nil
}
