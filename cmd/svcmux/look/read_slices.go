package look

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// readSlices reads the EndpointSlices of all namespaces. If the user may not, it reads those of one namespace, and ours
// on muxes.
func (r *reading) readSlices(ctx context.Context) (err error) {
	if !r.ask.Slices {
		return r.readRecords(ctx)
	}
	r.slices, err = r.cluster.EachSlice(ctx, "", "", r.PutSlice)
	if !kube.IsForbidden(err) || r.ask.All {
		return err
	}
	r.Unread.Slices, r.Unread.SlicesIn = Unavailable("EndpointSlices of other namespaces", err), map[string]bool{}
	r.slices, err = r.cluster.EachSlice(ctx, r.ask.Namespace, "", r.PutSlice)
	if err := r.readable(r.ask.Namespace, err); err != nil {
		return err
	}
	return r.readOnMuxes(ctx, r.Index().Existing())
}

// readRecords reads our slices of muxes whose ledger can't be used or has no claims: the plan rebuilds claims from
// these slices. It also reads those of muxes that are made for Gateways: listeners have no condition that tells whether
// they have backends.
func (r *reading) readRecords(ctx context.Context) error {
	clear(r.Slices)
	x := r.Index()
	var needed []types.NamespacedName
	for _, mux := range x.Existing() {
		ledger, err := (&source{x, mux}).Ledger(plan.ReadMux(r.Language, r.Services[mux], false))
		_, listens := GatewayOfMux(r.Language.Keys(), r.Services[mux])
		if listens || err != nil || ledger.Condition != plan.Good || len(ledger.Ledger.Claims) == 0 {
			needed = append(needed, mux)
		}
	}
	r.Unread.SlicesIn = map[string]bool{}
	if err := r.readOnMuxes(ctx, needed); err != nil {
		return err
	}
	r.Unread.SlicesOnMuxes, r.Unread.SlicesIn, r.Unread.NoSlices = r.Unread.SlicesIn, nil, true
	return nil
}

// readOnMuxes reads our slices on muxes.
func (r *reading) readOnMuxes(ctx context.Context, muxes []types.NamespacedName) error {
	namespaces := map[string]bool{}
	for _, mux := range muxes {
		namespaces[mux.Namespace] = !r.Unread.SlicesIn[mux.Namespace]
	}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		if !namespaces[namespace] {
			continue
		}
		_, err := r.cluster.EachSlice(ctx, namespace,
			"endpointslice.kubernetes.io/managed-by="+project.ManagedBy(r.Language.Keys()), r.PutSlice)
		if err := r.readable(namespace, err); err != nil {
			return err
		}
	}
	return nil
}

// readable notes a namespace whose slices were read. A lack of rights isn't an error: the namespace stays unread.
func (r *reading) readable(namespace string, err error) error {
	if kube.IsForbidden(err) {
		return nil
	}
	r.Unread.SlicesIn[namespace] = err == nil
	return err
}
