package backends

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/validation"
)

// takeover removes the Endpoints object that the original kept on a mux. Kubernetes mirrors the object into slices of
// its own. They have the backends until our slices do.
//
//	the original's Endpoints ──▶ wait until our slices are in place ──▶ label it skip-mirror ──▶ delete it
//
// Endpoints that an earlier version of ours wrote have that label already. No slices are mirrored from them, so they
// are deleted at once.
type takeover struct {
	*line
	done map[types.NamespacedName]types.UID
}

func setupTakeover(mgr manager.Manager, l *line) error {
	return add(mgr, "backends-takeover", &takeover{l, map[types.NamespacedName]types.UID{}}, 1,
		source.Kind[client.Object](mgr.GetCache(), &corev1.Service{}, l.onMuxes()))
}

// Reconcile does the next step for one mux.
func (t *takeover) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	mux, err := t.get(ctx, req.NamespacedName)
	if mux == nil {
		delete(t.done, req.NamespacedName)
		return reconcile.Result{}, err
	}
	if !t.mux(mux).IsMux || t.done[req.NamespacedName] == mux.UID {
		return reconcile.Result{}, nil
	}
	isDone, err := t.letGo(ctx, mux)
	isBehind := isStale(err)
	switch {
	case err != nil && !isBehind:
		return reconcile.Result{}, fmt.Errorf("remove Endpoints %s: %w", req, err)
	case isBehind || !isDone:
		return reconcile.Result{RequeueAfter: t.retries.When(req.NamespacedName)}, nil
	}
	t.retries.Forget(req.NamespacedName)
	t.done[req.NamespacedName] = mux.UID
	return reconcile.Result{}, nil
}

// letGo labels the original's object once our slices are in place, and then deletes it. It returns true after the last
// step. A dry run ends before the label, which it doesn't write.
//
//nolint:staticcheck // Endpoints are deprecated, and the original writes them
func (t *takeover) letGo(ctx context.Context, mux *corev1.Service) (bool, error) {
	left, err := read(ctx, t.Live, client.ObjectKeyFromObject(mux), &corev1.Endpoints{})
	if err != nil {
		return false, err
	}
	if !isLeft(left, t.keys) {
		return true, nil
	}
	if left.Labels[discoveryv1.LabelSkipMirror] == "true" {
		log.FromContext(ctx).Info("Deleting Endpoints that aren't mirrored", "endpoints", client.ObjectKeyFromObject(left))
		return true, client.IgnoreNotFound(t.Writer.Delete(ctx, left, client.Preconditions{UID: &left.UID}))
	}
	missing, err := t.missing(ctx, mux, left)
	if err != nil {
		return false, err
	}
	if missing != "" {
		log.FromContext(ctx).V(1).Info("The original's Endpoints are still needed", "because", missing)
		return false, nil
	}
	return t.Print != nil, merge(ctx, t.Writer, left, map[string]any{"metadata": map[string]any{
		"resourceVersion": left.ResourceVersion,
		"labels":          map[string]string{discoveryv1.LabelSkipMirror: "true"},
	}})
}

// isLeft is true for Endpoints that the original wrote on a mux, or an earlier version of ours.
//
//nolint:staticcheck // as above
func isLeft(endpoints *corev1.Endpoints, keys validation.Keys) bool {
	return endpoints != nil && endpoints.Labels["app.kubernetes.io/managed-by"] == "svc-lb-mux" &&
		endpoints.Annotations[keys.Managed] == "true"
}

// missing returns why the slices that Kubernetes mirrors from a mux's Endpoints are still needed. It returns "" once
// our slices have the same backends: then the mirrored slices may go without a gap.
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
		if decided := project.Decide(seen.View); !decided.Empty() || len(decided.Taken) > 0 {
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
