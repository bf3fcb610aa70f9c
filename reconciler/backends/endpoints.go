package backends

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// The label of the Endpoints that the original writes, beside the managed annotation. Ours have it, too.
const (
	originalLabel = "app.kubernetes.io/managed-by"
	original      = "svc-lb-mux"
)

// OursAmongEndpoints selects the Endpoints that the cache must have.
func OursAmongEndpoints() labels.Selector {
	return labels.SelectorFromSet(labels.Set{originalLabel: original})
}

// isMirrored is true for Endpoints that Kubernetes mirrors into slices of its own.
//
//nolint:staticcheck // Endpoints are deprecated, and the original writes them
func isMirrored(endpoints *corev1.Endpoints) bool {
	return endpoints.Labels[discoveryv1.LabelSkipMirror] != "true"
}

// missing returns why the slices that Kubernetes mirrors from a mux's Endpoints are still needed. It returns nothing if our
// slices stand in for them: then those may go without a gap.
//
//nolint:staticcheck // as above
func (l *line) missing(ctx context.Context, mux *corev1.Service, endpoints *corev1.Endpoints) (string, error) {
	key := client.ObjectKeyFromObject(mux)
	if _, known := l.Claims(types.NamespacedName{}, key); !known {
		return "the mux isn't decided yet", nil
	}
	channels, err := channelsOf(ctx, l.cache, key)
	if err != nil {
		return "", err
	}
	claimed := map[string]bool{}
	for _, channel := range channels {
		seen, err := l.observe(ctx, channel)
		if err != nil {
			return "", err
		}
		if decided := muxslices.Decide(seen.View); !decided.Empty() || len(decided.Taken) > 0 {
			return fmt.Sprintf("the backends of %s aren't in place", channel), nil
		}
		for _, claim := range seen.Claims {
			claimed[claim.MuxName] = true
		}
	}
	for _, port := range mux.Spec.Ports {
		if !claimed[port.Name] && hasReady(endpoints, port.Name) {
			return fmt.Sprintf("no channel has claimed port %s, %d/%s", port.Name, port.Port, port.Protocol), nil
		}
	}
	return "", nil
}

//nolint:staticcheck // as above
func hasReady(endpoints *corev1.Endpoints, port string) bool {
	return slices.ContainsFunc(endpoints.Subsets, func(subset corev1.EndpointSubset) bool {
		return len(subset.Addresses) > 0 &&
			slices.ContainsFunc(subset.Ports, func(p corev1.EndpointPort) bool { return p.Name == port })
	})
}
