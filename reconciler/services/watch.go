package services

import (
	"cmp"
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/controllers"
	"nowake.ai/svc-lb-mux/reconciler/fair"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
)

// indexMux finds the channels of a mux in the cache.
const indexMux = "mux"

// namespacesAtOnce is how many namespaces may use all their Muxes passes at a time before another namespace waits.
const namespacesAtOnce = 16

// noMux stands for the mux of channels whose class names none.
var noMux = types.NamespacedName{} //nolint:gochecknoglobals // never changed; a struct can't be a constant

type queue = controllers.Queue

// Setup adds the line's controllers to a manager, whose cache has the Index.
func (l *Line) Setup(m manager.Manager) error {
	w, o := watching{l}, outside{l}
	services := func(changed func(context.Context, queue, *corev1.Service, *corev1.Service)) source.Source {
		return source.Kind(m.GetCache(), &corev1.Service{}, controllers.OnChange(changed))
	}
	line := controller.Options{Reconciler: l, MaxConcurrentReconciles: namespacesAtOnce * l.Muxes,
		NewQueue: fair.NewQueue(l.Muxes)}
	ledgers := source.Kind(m.GetCache(), ledger.Object(), controllers.OnChange(w.onLedger))
	return errors.Join(
		controllers.Add(m, "mux", line, services(w.onService), ledgers, l.wakes()),
		controllers.Add(m, "stray", controller.Options{Reconciler: reconcile.Func(o.reconcileStray)}, services(o.onStray)),
		o.setupUnserved(m))
}

func (l *Line) indexByMux(obj client.Object) []string {
	svc, ok := obj.(*corev1.Service)
	if !ok || !l.Language.Classify(svc).Channel() {
		return nil
	}
	return []string{l.muxOf(svc).String()}
}

// muxOf returns the mux that a channel names; noMux if its class can't be parsed.
func (l *Line) muxOf(svc *corev1.Service) types.NamespacedName {
	mux, _ := l.Language.ParseClass(ptr.Deref(svc.Spec.LoadBalancerClass, ""))
	return mux
}

// muxesOf returns the muxes that a Service concerns: the mux that a channel names, and a mux itself.
func (l *Line) muxesOf(svc *corev1.Service) (muxes []types.NamespacedName) {
	kind := l.Language.Classify(svc)
	if kind.Channel() {
		muxes = append(muxes, l.muxOf(svc))
	}
	if kind.Mux() {
		muxes = append(muxes, client.ObjectKeyFromObject(svc))
	}
	return muxes
}

// muxOfLedger returns the mux that a ledger names.
func (l *Line) muxOfLedger(cm *metav1.PartialObjectMetadata) types.NamespacedName {
	namespace, name, _ := strings.Cut(cm.Annotations[l.Language.Keys().Mux], "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// watching turns events of informers into passes.
type watching struct{ *Line }

// onService wakes the mux itself, or the muxes that a channel names and named before.
func (w watching) onService(_ context.Context, q queue, old, now *corev1.Service) {
	w.services.Seen(cmp.Or(now, old))
	for _, svc := range controllers.Differing(old, now) {
		for _, mux := range w.muxesOf(svc) {
			w.wake(q, mux)
		}
	}
}

func (w watching) wake(q queue, mux types.NamespacedName) {
	if !w.LooksAfter(mux) {
		return
	}
	w.debounce.changed(mux, w.Now())
	q.Add(reconcile.Request{NamespacedName: mux})
}

// onLedger wakes the mux that a ledger names, and the frozen muxes of its namespace: the ledger may be the ConfigMap
// that they need.
func (w watching) onLedger(_ context.Context, q queue, old, now *metav1.PartialObjectMetadata) {
	for _, cm := range controllers.Differing(old, now) {
		if mux := w.muxOfLedger(cm); mux.Namespace == cm.Namespace {
			w.wake(q, mux)
		}
		for _, mux := range w.frozenIn(cm.Namespace) {
			w.wake(q, mux)
		}
	}
}

func (w watching) frozenIn(namespace string) []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	var frozen []types.NamespacedName
	for mux, m := range w.memories {
		if mux.Namespace == namespace && m.frozenBy() != "" {
			frozen = append(frozen, mux)
		}
	}
	return frozen
}
