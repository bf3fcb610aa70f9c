package services

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
)

// News calls changed with each mux whose Look may have changed, whether this process leads or not. It calls often and
// from several goroutines, so that changed must be fast.
func (l *Line) News(ctx context.Context, informers cache.Cache, changed func(mux types.NamespacedName)) error {
	tell := func(obj any) {
		for _, mux := range l.concerned(ctx, obj) {
			changed(mux)
		}
	}
	for _, object := range [...]client.Object{&corev1.Service{}, &discoveryv1.EndpointSlice{}, ledger.Object()} {
		informer, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("follow %T: %w", object, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: tell,
			UpdateFunc: func(old, now any) {
				tell(old)
				tell(now)
			},
			DeleteFunc: func(obj any) {
				if gone, unknown := obj.(toolscache.DeletedFinalStateUnknown); unknown {
					obj = gone.Obj
				}
				tell(obj)
			},
		})
		if err != nil {
			return fmt.Errorf("follow %T: %w", object, err)
		}
	}
	return nil
}

// concerned returns the muxes whose Look an object can change.
func (l *Line) concerned(ctx context.Context, obj any) []types.NamespacedName {
	switch is := obj.(type) {
	case *corev1.Service:
		return l.muxesOf(is)
	case *metav1.PartialObjectMetadata:
		if mux := l.muxOfLedger(is); mux != noMux {
			return []types.NamespacedName{mux}
		}
	case *discoveryv1.EndpointSlice:
		if project.IsOurSlice(l.Language.Keys(), is) {
			return []types.NamespacedName{project.MuxOfSlice(l.Language.Keys(), is)}
		}
		name := is.Labels[discoveryv1.LabelServiceName]
		if svc, err := l.Service(ctx, types.NamespacedName{Namespace: is.Namespace, Name: name}); err == nil && svc != nil {
			return l.muxesOf(svc)
		}
	}
	return nil
}
