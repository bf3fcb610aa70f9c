package backends

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// How the original marks the Endpoints that it writes, beside the managed annotation.
const (
	originalLabel = "app.kubernetes.io/managed-by"
	original      = "svc-lb-mux"
)

// enough is how often to look whether the mirror images are gone, nearly a minute in all: where nobody mirrors, nobody
// takes them away either.
const enough = 10

// takeover lets go of the Endpoints object that the original kept on a mux. Kubernetes mirrors it into slices of its own,
// which carry backends until ours do.
//
//	the original's Endpoints ──▶ wait ──▶ label it skip-mirror ──▶ wait ──▶ delete it
//	                              │                                 │
//	                              │                                 until what was mirrored is gone
//	                              until every port that is published has the backends it shall have in our slices
//
// A mux is asked about once in the life of a process; what is found there is waited for by the cache alone.
type takeover struct {
	*line
	keep bool // the object is labelled and stays, for the one that writes it from now on
	pace workqueue.TypedRateLimiter[types.NamespacedName]

	mu   sync.Mutex
	done map[types.UID]bool
	left map[types.UID]*corev1.Endpoints //nolint:staticcheck // deprecated, and what the original writes
}

func setupTakeover(mgr manager.Manager, l *line, keep bool) error {
	t := &takeover{line: l, keep: keep,
		pace: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry),
		done: map[types.UID]bool{},
		left: map[types.UID]*corev1.Endpoints{}} //nolint:staticcheck // as above
	return run(mgr, "backends-takeover", t, 1, source.Kind[client.Object](mgr.GetCache(), &corev1.Service{}, t.onService()))
}

func (t *takeover) onService() handler.EventHandler {
	wake := func(object client.Object, q queue) {
		if t.carrier(object.(*corev1.Service)).IsMux && !t.isDone(object.GetUID()) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { wake(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { t.forget(e.Object.GetUID()) },
	}
}

// Reconcile brings one mux a step further.
func (t *takeover) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	mux, err := t.get(ctx, req.NamespacedName)
	if err != nil || mux == nil || !t.carrier(mux).IsMux || t.isDone(mux.UID) {
		return reconcile.Result{}, err
	}
	left, err := t.leftover(ctx, mux)
	if err != nil {
		return reconcile.Result{}, err
	}
	if left == nil {
		t.finish(mux.UID)
		return reconcile.Result{}, nil
	}
	missing, err := t.missing(ctx, mux, left)
	if err != nil {
		return reconcile.Result{}, err
	}
	if missing != "" {
		log.FromContext(ctx).V(1).Info("The original's Endpoints are needed still", "because", missing)
		return reconcile.Result{RequeueAfter: t.pace.When(req.NamespacedName)}, nil
	}
	gone, err := t.letGo(ctx, left)
	if t.Print != nil { // nothing was done, so there is nothing to wait for
		t.finish(mux.UID)
		return reconcile.Result{}, err
	}
	if err != nil || !gone {
		t.reread(mux.UID)
		if err == nil || isStale(err) {
			return reconcile.Result{RequeueAfter: t.pace.When(req.NamespacedName)}, nil
		}
		return reconcile.Result{}, fmt.Errorf("let go of Endpoints %s: %w", req.NamespacedName, err)
	}
	log.FromContext(ctx).Info("The original's Endpoints are let go", "mux", req.NamespacedName)
	t.pace.Forget(req.NamespacedName)
	t.finish(mux.UID)
	return reconcile.Result{}, nil
}

// leftover returns the original's object, nil if there is none. It is read once.
//
//nolint:staticcheck // Endpoints are deprecated, and what the original writes
func (t *takeover) leftover(ctx context.Context, mux *corev1.Service) (*corev1.Endpoints, error) {
	t.mu.Lock()
	left := t.left[mux.UID]
	t.mu.Unlock()
	if left != nil {
		return left, nil
	}
	left = &corev1.Endpoints{}
	if err := t.Live.Get(ctx, client.ObjectKeyFromObject(mux), left); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read Endpoints %s/%s: %w", mux.Namespace, mux.Name, err)
	}
	if left.Labels[originalLabel] != original || left.Annotations[t.keys.Managed] != "true" ||
		t.keep && left.Labels[discoveryv1.LabelSkipMirror] == "true" {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left[mux.UID] = left
	return left, nil
}

func (t *takeover) isDone(mux types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.done[mux]
}

func (t *takeover) finish(mux types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done[mux] = true
	delete(t.left, mux)
}

func (t *takeover) forget(mux types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.done, mux)
	delete(t.left, mux)
}

func (t *takeover) reread(mux types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.left, mux)
}
