package backends

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
)

// legacy writes our slices of a mux into an Endpoints object as well. The object's skip-mirror label keeps Kubernetes
// from mirroring the object: otherwise the mux would have every backend twice. legacy takes over the original's object
// once our slices are in place, and leaves foreign objects alone.
type legacy struct {
	*line
	pace *pace.Pace[types.NamespacedName] // of Endpoints, by mux
}

func setupLegacy(mgr manager.Manager, l *line) error {
	e := &legacy{l, pace.New[types.NamespacedName]()}
	return add(mgr, "backends-legacy", e, 1,
		source.Kind[client.Object](mgr.GetCache(), &discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(e.muxOf)),
		source.Kind[client.Object](mgr.GetCache(), &corev1.Service{}, l.onMuxes()),
		source.Kind[client.Object](mgr.GetCache(), &corev1.Endpoints{},
			&handler.EnqueueRequestForObject{})) //nolint:staticcheck // Endpoints are deprecated, and written on request
}

func (e *legacy) muxOf(_ context.Context, object client.Object) []reconcile.Request {
	slice := object.(*discoveryv1.EndpointSlice)
	if !project.IsOurSlice(e.keys, slice) {
		return nil
	}
	return []reconcile.Request{request(project.MuxOfSlice(e.keys, slice))}
}

// Reconcile writes the object of one mux if its content isn't as wanted. The cache may be stale: a live read decides.
func (e *legacy) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	mux, err := e.get(ctx, req.NamespacedName)
	if err != nil || mux == nil || !e.mux(mux).IsMux || mux.DeletionTimestamp != nil {
		e.pace.Forget(req.NamespacedName)
		return reconcile.Result{}, err
	}
	carried, err := OnMux(ctx, e.cache, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	want, is := e.object(mux, carried), (*corev1.Endpoints)(nil) //nolint:staticcheck // as above
	for _, from := range [...]client.Reader{e.cache, e.Live} {
		if is, err = read(ctx, from, req.NamespacedName, &corev1.Endpoints{}); err != nil || is != nil &&
			saysAll(is, want) { //nolint:staticcheck // as above
			return reconcile.Result{}, err
		}
	}
	why, err := e.keepsOff(ctx, mux, is)
	if err != nil {
		return reconcile.Result{}, err
	}
	if why != "" {
		log.FromContext(ctx).V(1).Info("Endpoints of the mux are left alone", "endpoints", req.NamespacedName, "because", why)
		return reconcile.Result{RequeueAfter: e.retries.When(req.NamespacedName)}, nil
	}
	return e.correct(ctx, want, is)
}

// correct writes the object, unless the correction of a drift must wait.
//
//nolint:staticcheck // as above
func (e *legacy) correct(ctx context.Context, want, is *corev1.Endpoints) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(want)
	turn := e.pace.Ask(key, pace.ContentOf(want), e.Now())
	if turn.Wait > 0 {
		return reconcile.Result{RequeueAfter: turn.Wait}, nil
	}
	var err error
	if is == nil {
		err = e.Writer.Create(ctx, want)
	} else {
		err = merge(ctx, e.Writer, is, map[string]any{
			"metadata": map[string]any{"resourceVersion": is.ResourceVersion, "labels": want.Labels,
				"annotations": want.Annotations, "ownerReferences": want.OwnerReferences},
			"subsets": append([]corev1.EndpointSubset{}, want.Subsets...),
		})
	}
	switch {
	case err != nil && isStale(err):
		e.pace.Failed(key)
		return reconcile.Result{RequeueAfter: e.retries.When(key)}, nil
	case err != nil:
		e.pace.Failed(key)
		return reconcile.Result{}, fmt.Errorf("write Endpoints %s: %w", key, err)
	case turn.First:
		e.Tell(plan.Event{Object: key, Warning: true, Reason: plan.MuxDriftCorrected,
			Message: fmt.Sprintf("another writer changed Endpoints %s, and the change was undone", key)})
	}
	e.retries.Forget(key)
	return reconcile.Result{}, nil
}

// keepsOff returns why an object must stay as it is.
//
//nolint:staticcheck // as above
func (e *legacy) keepsOff(ctx context.Context, mux *corev1.Service, is *corev1.Endpoints) (string, error) {
	switch {
	case is == nil:
	case is.Labels[originalLabel] != original:
		return "they are foreign", nil
	case is.Labels[discoveryv1.LabelSkipMirror] != "true":
		return e.missing(ctx, mux, is)
	}
	return "", nil
}

//nolint:staticcheck // as above
func (e *legacy) object(mux *corev1.Service, carried []*discoveryv1.EndpointSlice) *corev1.Endpoints {
	return &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: mux.Namespace, Name: mux.Name,
			Labels: map[string]string{originalLabel: original, "app.kubernetes.io/component": "mux-endpoints",
				discoveryv1.LabelSkipMirror: "true"},
			Annotations:     map[string]string{e.keys.Managed: "true", e.keys.Mux: mux.Namespace + "/" + mux.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: mux.Name, UID: mux.UID}},
		},
		Subsets: project.Subsets(carried),
	}
}

// saysAll is true if an object has the wanted subsets and everything else that is wanted.
//
//nolint:staticcheck // as above
func saysAll(is, want *corev1.Endpoints) bool {
	return maps.Equal(readiness(is.Subsets), readiness(want.Subsets)) && covers(is.Labels, want.Labels) &&
		covers(is.Annotations, want.Annotations) && len(is.OwnerReferences) == 1 &&
		is.OwnerReferences[0].UID == want.OwnerReferences[0].UID
}

// readiness returns whether each address of each port is ready. The API server stores subsets in an order of its own.
// An address that is listed both as ready and as not ready is stored as not ready.
//
//nolint:staticcheck // as above
func readiness(subsets []corev1.EndpointSubset) map[string]bool {
	ready := map[string]bool{}
	note := func(port *corev1.EndpointPort, addresses []corev1.EndpointAddress, isReady bool) {
		for i := range addresses {
			key := fmt.Sprint(port.Name, port.Port, port.Protocol, port.AppProtocol != nil, addresses[i].IP)
			was, known := ready[key]
			ready[key] = isReady && (was || !known)
		}
	}
	for i := range subsets {
		for j := range subsets[i].Ports {
			note(&subsets[i].Ports[j], subsets[i].Addresses, true)
			note(&subsets[i].Ports[j], subsets[i].NotReadyAddresses, false)
		}
	}
	return ready
}

// covers is true if a map has everything of another one.
func covers(all, some map[string]string) bool {
	return labels.SelectorFromSet(some).Matches(labels.Set(all))
}
