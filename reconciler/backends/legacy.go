package backends

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/fight"
	"nowake.ai/svc-lb-mux/reconciler/fresh"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

const (
	componentLabel = "app.kubernetes.io/component"
	component      = "mux-endpoints"
)

// legacy writes what our slices of a mux say into an Endpoints object as well. The mirroring controller is told to leave
// it: else every backend would be there twice. An object that isn't ours isn't touched, and one of the original's not
// before takeover has labelled it.
type legacy struct {
	*line
	// answers are the API server's to our own writes, which the cache is behind of.
	answers  *fresh.Store[*corev1.Endpoints] //nolint:staticcheck // as above
	quarrels *fight.Fights[types.NamespacedName]

	mu   sync.Mutex
	last map[types.NamespacedName]written
	told map[types.NamespacedName]bool
}

func setupLegacy(mgr manager.Manager, l *line) error {
	e := newLegacy(l)
	return run(mgr, "backends-legacy", e, 1,
		source.Kind[client.Object](mgr.GetCache(), &discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(e.muxOf)),
		source.Kind[client.Object](mgr.GetCache(), &corev1.Service{}, handler.EnqueueRequestsFromMapFunc(e.isMux)),
		source.Kind[client.Object](mgr.GetCache(), &corev1.Endpoints{}, handler.EnqueueRequestsFromMapFunc(e.itself))) //nolint:staticcheck // as above
}

func (e *legacy) muxOf(_ context.Context, object client.Object) []reconcile.Request {
	slice := object.(*discoveryv1.EndpointSlice)
	if !muxslices.IsOurSlice(e.keys, slice) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: muxslices.MuxOfSlice(e.keys, slice)}}
}

func (e *legacy) isMux(_ context.Context, object client.Object) []reconcile.Request {
	if !e.carrier(object.(*corev1.Service)).IsMux {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}

// Reconcile writes one mux's object if its slices say something else than was written last.
func (e *legacy) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	mux, err := e.get(ctx, req.NamespacedName)
	if err != nil || mux == nil || !e.carrier(mux).IsMux || mux.DeletionTimestamp != nil {
		e.forget(req.NamespacedName)
		return reconcile.Result{}, err
	}
	slices, err := OnMux(ctx, e.cache, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	object := e.object(mux, slices)
	text, err := json.Marshal(object)
	if err != nil {
		return reconcile.Result{}, err
	}
	sum := sha256.Sum256(text)
	drift, err := e.differs(ctx, req.NamespacedName, sum)
	if err != nil || drift == none {
		return reconcile.Result{}, err
	}
	if drift == changed {
		wait, first := e.quarrels.Allow(req.NamespacedName, e.Now())
		if wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		if first {
			e.Tell(plan.Event{Object: req.NamespacedName, Warning: true, Reason: plan.MuxDriftCorrected,
				Message: fmt.Sprintf("put right what was changed: Endpoints %s", req.NamespacedName)})
		}
	}
	answer, err := e.write(ctx, object)
	if err != nil && isStale(err) || err == nil && answer == nil {
		return reconcile.Result{RequeueAfter: e.stale.When(req.NamespacedName)}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("write Endpoints %s: %w", req.NamespacedName, err)
	}
	e.stale.Forget(req.NamespacedName)
	e.remember(answer, sum)
	return reconcile.Result{}, nil
}

//nolint:staticcheck // deprecated, and asked for by who still reads it
func (e *legacy) object(mux *corev1.Service, slices []*discoveryv1.EndpointSlice) *corev1.Endpoints {
	return &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: mux.Namespace, Name: mux.Name,
			Labels:          map[string]string{originalLabel: original, componentLabel: component, discoveryv1.LabelSkipMirror: "true"},
			Annotations:     map[string]string{e.keys.Managed: "true", e.keys.Mux: mux.Namespace + "/" + mux.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: mux.Name, UID: mux.UID}},
		},
		Subsets: muxslices.Subsets(slices),
	}
}

// write returns the API server's answer; nil if the object is somebody else's for now.
//
//nolint:staticcheck // deprecated, and asked for by who still reads it
func (e *legacy) write(ctx context.Context, object *corev1.Endpoints) (*corev1.Endpoints, error) {
	key := client.ObjectKeyFromObject(object)
	is := &corev1.Endpoints{}
	if err := e.Live.Get(ctx, key, is); err != nil {
		if apierrors.IsNotFound(err) {
			return object, e.Writer.Create(ctx, object)
		}
		return nil, err
	}
	if is.Labels[originalLabel] != original || is.Labels[discoveryv1.LabelSkipMirror] != "true" {
		if e.tells(key) {
			log.FromContext(ctx).Info("Endpoints of the mux are somebody else's still, and left alone", "endpoints", key)
		}
		return nil, nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": is.ResourceVersion, "labels": object.Labels,
			"annotations": object.Annotations, "ownerReferences": object.OwnerReferences},
		"subsets": append([]corev1.EndpointSubset{}, object.Subsets...),
	})
	if err != nil {
		return nil, err
	}
	return is, e.Writer.Patch(ctx, is, client.RawPatch(types.MergePatchType, patch))
}

func (e *legacy) tells(mux types.NamespacedName) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.told[mux]
	e.told[mux] = true
	return first
}
