package mux

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/ledger"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// News calls changed with each mux whose Look may have changed, leading or not. It calls often and from several
// goroutines, so that changed must be fast.
func (l *Line) News(ctx context.Context, informers cache.Cache, changed func(mux types.NamespacedName)) error {
	for _, watch := range []struct {
		object client.Object
		tell   func(obj any)
	}{
		{&corev1.Service{}, func(obj any) { l.newsOfService(obj, changed) }},
		{&discoveryv1.EndpointSlice{}, func(obj any) { l.newsOfSlice(ctx, obj, changed) }},
		{ledger.Object(), func(obj any) { l.newsOfLedger(obj, changed) }},
	} {
		informer, err := informers.GetInformer(ctx, watch.object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("follow %T: %w", watch.object, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: watch.tell,
			UpdateFunc: func(old, now any) {
				watch.tell(old)
				watch.tell(now)
			},
			DeleteFunc: func(obj any) {
				if gone, unknown := obj.(toolscache.DeletedFinalStateUnknown); unknown {
					obj = gone.Obj
				}
				watch.tell(obj)
			},
		})
		if err != nil {
			return fmt.Errorf("follow %T: %w", watch.object, err)
		}
	}
	return nil
}

func (l *Line) newsOfService(obj any, changed func(types.NamespacedName)) {
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return
	}
	kind := l.Language.Classify(svc)
	if kind.Channel() {
		changed(l.muxOf(svc))
	}
	if kind.Mux() {
		changed(client.ObjectKeyFromObject(svc))
	}
}

func (l *Line) newsOfSlice(ctx context.Context, obj any, changed func(types.NamespacedName)) {
	slice, ok := obj.(*discoveryv1.EndpointSlice)
	if !ok {
		return
	}
	if muxslices.IsOurSlice(l.Language.Keys(), slice) {
		changed(muxslices.MuxOfSlice(l.Language.Keys(), slice))
		return
	}
	name := slice.Labels[discoveryv1.LabelServiceName]
	if svc, err := l.service(ctx, types.NamespacedName{Namespace: slice.Namespace, Name: name}); err == nil && svc != nil {
		l.newsOfService(svc, changed)
	}
}

func (l *Line) newsOfLedger(obj any, changed func(types.NamespacedName)) {
	cm, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	if namespace, name, found := strings.Cut(cm.Annotations[l.Language.Keys().Mux], "/"); found {
		changed(types.NamespacedName{Namespace: namespace, Name: name})
	}
}
