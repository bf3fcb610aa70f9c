package backends

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// takeover removes the Endpoints object that the original kept on a mux. Kubernetes mirrors it into slices of its own, which
// have the backends until ours do.
//
//	the original's Endpoints ──▶ wait until our slices stand ──▶ label it skip-mirror ──▶ delete it
//
// Each mux is read until that is done, once if it has no such object.
type takeover struct {
	*line
	retries workqueue.TypedRateLimiter[types.NamespacedName]
	done    map[types.NamespacedName]types.UID
}

func newTakeover(l *line) *takeover {
	return &takeover{line: l, retries: newRetries(), done: map[types.NamespacedName]types.UID{}}
}

func setupTakeover(mgr manager.Manager, l *line) error {
	return run(mgr, "backends-takeover", newTakeover(l), 1,
		source.Kind[client.Object](mgr.GetCache(), &corev1.Service{}, &handler.EnqueueRequestForObject{}))
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
	switch {
	case err != nil && !isStale(err):
		return reconcile.Result{}, fmt.Errorf("remove Endpoints %s: %w", req, err)
	case err != nil || !isDone:
		return reconcile.Result{RequeueAfter: t.retries.When(req.NamespacedName)}, nil
	}
	t.retries.Forget(req.NamespacedName)
	t.done[req.NamespacedName] = mux.UID
	return reconcile.Result{}, nil
}

// letGo labels the original's object once our slices stand, and deletes it after that. It returns true if the mux has no such
// object any more. In a dry run the label is all, because it isn't written.
//
//nolint:staticcheck // Endpoints are deprecated, and the original writes them
func (t *takeover) letGo(ctx context.Context, mux *corev1.Service) (bool, error) {
	left, err := read(ctx, t.Live, client.ObjectKeyFromObject(mux), &corev1.Endpoints{})
	if err != nil {
		return false, err
	}
	if left == nil || left.Labels[originalLabel] != original || left.Annotations[t.keys.Managed] != "true" {
		return true, nil
	}
	missing, err := t.missing(ctx, mux, left)
	if err != nil {
		return false, err
	}
	if missing != "" {
		log.FromContext(ctx).V(1).Info("The original's Endpoints are still needed", "because", missing)
		return false, nil
	}
	if isMirrored(left) {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": left.ResourceVersion,
			"labels":          map[string]string{discoveryv1.LabelSkipMirror: "true"},
		}})
		if err != nil {
			return false, err
		}
		return t.Print != nil, t.Writer.Patch(ctx, left, client.RawPatch(types.MergePatchType, patch))
	}
	log.FromContext(ctx).Info("Deleting the original's Endpoints", "endpoints", client.ObjectKeyFromObject(left))
	return true, client.IgnoreNotFound(t.Writer.Delete(ctx, left, client.Preconditions{UID: &left.UID}))
}
