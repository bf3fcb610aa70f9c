package mux

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/fair"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
)

// indexMux finds the channels of a mux in the cache.
const indexMux = "mux"

// namespacesAtOnce is how many namespaces may use all their Muxes passes at a time before another namespace waits.
const namespacesAtOnce = 16

// noMux stands for the mux of channels whose class names none.
var noMux = types.NamespacedName{} //nolint:gochecknoglobals // never changed; a struct can't be a constant

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Setup adds the line's controllers to a manager.
func (l *Line) Setup(ctx context.Context, m manager.Manager) error {
	if err := l.Index(ctx, m); err != nil {
		return err
	}
	w, o := watching{l}, outside{l}
	line, err := controller.New("mux", m, controller.Options{
		Reconciler: l, MaxConcurrentReconciles: namespacesAtOnce * l.Muxes, RateLimiter: retries(), NewQueue: fair.NewQueue(l.Muxes),
	})
	if err != nil {
		return err
	}
	if err := line.Watch(source.Kind(m.GetCache(), &corev1.Service{}, w.onService())); err != nil {
		return err
	}
	if err := line.Watch(source.Kind(m.GetCache(), ledger.Object(), w.onLedger())); err != nil {
		return err
	}
	if err := line.Watch(l.woken.source()); err != nil {
		return err
	}
	strays, err := controller.New("stray", m, controller.Options{Reconciler: reconcile.Func(o.reconcileStray), RateLimiter: retries()})
	if err != nil {
		return err
	}
	if err := strays.Watch(source.Kind(m.GetCache(), &corev1.Service{}, o.onStray())); err != nil {
		return err
	}
	return o.setupUnserved(m)
}

// retries backs off up to 30 s. The default maximum of 17 minutes would let users wait too long without a word.
func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 30*time.Second)
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
	mux, _ := l.Language.ParseClass(class(svc))
	return mux
}

// muxesOf returns the muxes that a Service concerns: the one that it names, and itself.
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
func (w watching) onService() handler.TypedEventHandler[*corev1.Service, reconcile.Request] {
	wake := func(q queue, services ...*corev1.Service) {
		for _, svc := range services {
			for _, mux := range w.muxesOf(svc) {
				w.wake(q, mux)
			}
		}
	}
	return handler.TypedFuncs[*corev1.Service, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Service], q queue) {
			w.services.Seen(e.Object)
			wake(q, e.Object)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Service], q queue) {
			w.services.Seen(e.ObjectNew)
			if e.ObjectOld.ResourceVersion != e.ObjectNew.ResourceVersion {
				wake(q, e.ObjectOld, e.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*corev1.Service], q queue) {
			w.services.Seen(e.Object)
			wake(q, e.Object)
		},
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
func (w watching) onLedger() handler.TypedEventHandler[*metav1.PartialObjectMetadata, reconcile.Request] {
	wake := func(q queue, cm *metav1.PartialObjectMetadata) {
		if mux := w.muxOfLedger(cm); mux.Namespace == cm.Namespace {
			w.wake(q, mux)
		}
		for _, mux := range w.frozenIn(cm.Namespace) {
			w.wake(q, mux)
		}
	}
	return handler.TypedFuncs[*metav1.PartialObjectMetadata, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*metav1.PartialObjectMetadata], q queue) {
			wake(q, e.Object)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*metav1.PartialObjectMetadata], q queue) {
			if e.ObjectOld.ResourceVersion != e.ObjectNew.ResourceVersion {
				wake(q, e.ObjectOld)
				wake(q, e.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*metav1.PartialObjectMetadata], q queue) {
			wake(q, e.Object)
		},
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
