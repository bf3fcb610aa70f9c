package backends

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/fresh"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

const (
	componentLabel = "app.kubernetes.io/component"
	component      = "mux-endpoints"
)

// legacy writes our slices of a mux into an Endpoints object as well. Its skip-mirror label keeps Kubernetes from mirroring
// it: else every backend would be there twice. It takes over the original's object once our slices stand, and leaves
// foreign objects alone.
type legacy struct {
	*line
	answers *fresh.Store[*corev1.Endpoints] //nolint:staticcheck // Endpoints are deprecated, and written on request
	turns   *pace.Pace[types.NamespacedName]
	last    map[types.NamespacedName]lastWrite
}

// lastWrite is what was written last, and the API server's answer, in which subsets have another order.
type lastWrite struct {
	content pace.Content
	answer  *corev1.Endpoints //nolint:staticcheck // as above
}

func newLegacy(l *line) *legacy {
	return &legacy{line: l, answers: fresh.New[*corev1.Endpoints](patience, l.Now), //nolint:staticcheck // as above
		turns: pace.New[types.NamespacedName](), last: map[types.NamespacedName]lastWrite{}}
}

func setupLegacy(mgr manager.Manager, l *line) error {
	e := newLegacy(l)
	return run(mgr, "backends-legacy", e, 1,
		source.Kind[client.Object](mgr.GetCache(), &discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(e.muxOf)),
		source.Kind[client.Object](mgr.GetCache(), &corev1.Service{}, &handler.EnqueueRequestForObject{}),
		source.Kind[client.Object](mgr.GetCache(), &corev1.Endpoints{}, handler.EnqueueRequestsFromMapFunc(e.muxOf))) //nolint:staticcheck // as above
}

// muxOf returns the mux of a slice of ours, or of an Endpoints object, which has its name.
func (e *legacy) muxOf(_ context.Context, object client.Object) []reconcile.Request {
	switch object := object.(type) {
	case *discoveryv1.EndpointSlice:
		if muxslices.IsOurSlice(e.keys, object) {
			return []reconcile.Request{request(muxslices.MuxOfSlice(e.keys, object))}
		}
	case *corev1.Endpoints: //nolint:staticcheck // as above
		e.answers.Seen(object)
		return []reconcile.Request{request(client.ObjectKeyFromObject(object))}
	}
	return nil
}

// Reconcile writes the object of one mux if its slices have changed, or if another writer changed the object.
func (e *legacy) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	key := req.NamespacedName
	mux, err := e.get(ctx, key)
	if err != nil || mux == nil || !e.mux(mux).IsMux || mux.DeletionTimestamp != nil {
		e.turns.Forget(key)
		delete(e.last, key)
		return reconcile.Result{}, err
	}
	carried, err := OnMux(ctx, e.cache, key)
	if err != nil {
		return reconcile.Result{}, err
	}
	object := e.object(mux, carried)
	content, err := hashOf(object)
	if err != nil {
		return reconcile.Result{}, err
	}
	if is, err := e.isWritten(ctx, key, content); err != nil || is {
		return reconcile.Result{}, err
	}
	turn := e.turns.Ask(key, content, e.Now())
	if turn.Wait > 0 {
		return reconcile.Result{RequeueAfter: turn.Wait}, nil
	}
	answer, err := e.write(ctx, mux, object)
	switch {
	case err != nil && !isStale(err):
		e.turns.Failed(key)
		return reconcile.Result{}, fmt.Errorf("write Endpoints %s: %w", key, err)
	case err != nil || answer == nil:
		e.turns.Failed(key)
		return reconcile.Result{RequeueAfter: e.conflicts.When(key)}, nil
	}
	e.remember(key, content, answer)
	if turn.First {
		e.Tell(plan.Event{Object: key, Warning: true, Reason: plan.MuxDriftCorrected,
			Message: fmt.Sprintf("another writer changed Endpoints %s, and the change was undone", key)})
	}
	return reconcile.Result{}, nil
}

//nolint:staticcheck // as above
func (e *legacy) object(mux *corev1.Service, carried []*discoveryv1.EndpointSlice) *corev1.Endpoints {
	return &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: mux.Namespace, Name: mux.Name,
			Labels:          map[string]string{originalLabel: original, componentLabel: component, discoveryv1.LabelSkipMirror: "true"},
			Annotations:     map[string]string{e.keys.Managed: "true", e.keys.Mux: mux.Namespace + "/" + mux.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: mux.Name, UID: mux.UID}},
		},
		Subsets: muxslices.Subsets(carried),
	}
}

// write returns the API server's answer. It is nil if the object is foreign, or if our slices don't stand in yet for what
// Kubernetes mirrors from it.
//
//nolint:staticcheck // as above
func (e *legacy) write(ctx context.Context, mux *corev1.Service, object *corev1.Endpoints) (*corev1.Endpoints, error) {
	is, err := read(ctx, e.Live, client.ObjectKeyFromObject(object), &corev1.Endpoints{})
	switch {
	case err != nil:
		return nil, err
	case is == nil:
		return object, e.Writer.Create(ctx, object)
	}
	if why, err := e.keepsOff(ctx, mux, is); err != nil || why != "" {
		log.FromContext(ctx).V(1).Info("Endpoints of the mux are left alone", "endpoints", client.ObjectKeyFromObject(is), "because", why)
		return nil, err
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

// keepsOff returns why an object must stay as it is.
//
//nolint:staticcheck // as above
func (e *legacy) keepsOff(ctx context.Context, mux *corev1.Service, is *corev1.Endpoints) (string, error) {
	switch {
	case is.Labels[originalLabel] != original:
		return "it is foreign", nil
	case isMirrored(is):
		return e.missing(ctx, mux, is)
	}
	return "", nil
}

//nolint:staticcheck // as above
func (e *legacy) remember(mux types.NamespacedName, content pace.Content, answer *corev1.Endpoints) {
	e.conflicts.Forget(mux)
	answer.ManagedFields = nil
	e.answers.Put(answer)
	e.last[mux] = lastWrite{content, answer}
}

// isWritten is true if the content was written last, and the object is still as the API server stored it.
//
//nolint:staticcheck // as above
func (e *legacy) isWritten(ctx context.Context, mux types.NamespacedName, content pace.Content) (bool, error) {
	last, known := e.last[mux]
	if !known || last.content != content {
		return false, nil
	}
	written := e.answers.Before()
	cached, err := read(ctx, e.cache, mux, &corev1.Endpoints{})
	if err != nil {
		return false, err
	}
	is, was := written.Latest(mux, cached), last.answer
	return is != nil && equality.Semantic.DeepEqual(is.Subsets, was.Subsets) &&
		equality.Semantic.DeepEqual(is.OwnerReferences, was.OwnerReferences) &&
		covers(is.Labels, was.Labels) && covers(is.Annotations, was.Annotations), nil
}

// covers is true if a map has everything of another one.
func covers(all, some map[string]string) bool {
	missing := maps.Clone(some)
	maps.DeleteFunc(missing, func(key, value string) bool { return all[key] == value })
	return len(missing) == 0
}
