package backends

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/controllers"
)

type queue = controllers.Queue

func request(key types.NamespacedName) reconcile.Request {
	return reconcile.Request{NamespacedName: key}
}

// Waker wakes the line for channels whose claims have changed: ledger.NewBoard takes its Wake. Before the line starts,
// it does nothing: the start is a pass over every channel.
type Waker struct{ queue atomic.Pointer[queue] }

// Wake adds channels to the queue.
func (w *Waker) Wake(channels []types.NamespacedName) {
	q := w.queue.Load()
	if q == nil {
		return
	}
	for _, channel := range channels {
		(*q).Add(request(channel))
	}
}

func (w *Waker) source() source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		w.queue.Store(&q)
		return nil
	})
}

// onSlice wakes the channel that a slice belongs to. An update wakes the channel of the slice's old labels, too:
// another writer may have changed them. Slices with our labels that the channel's mux doesn't own wake no channel.
func (l *line) onSlice() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		slice := object.(*discoveryv1.EndpointSlice)
		l.written.Seen(slice)
		channel, isCarried := project.ChannelOfSlice(l.keys, slice)
		if !isCarried {
			channel = types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		}
		users := l.users(channel)
		key, attached, err := l.muxOf(ctx, channel)
		if err != nil || !attached {
			return users
		}
		if isCarried {
			mux, _ := l.get(ctx, key)
			if mux == nil || key.Namespace != slice.Namespace || !slices.Contains(project.OwnersOfSlice(slice), mux.UID) {
				return nil
			}
		}
		return append(users, request(channel))
	})
}

// onService wakes a channel, and all channels of a mux, if something changes that slices depend on. A mux's ports,
// addresses and annotations change no slice.
func (l *line) onService(ctx context.Context, q queue, old, now *corev1.Service) {
	key := client.ObjectKeyFromObject(cmp.Or(now, old))
	if now == nil {
		l.rooms.forget(old)
	}
	_, was := muxOf(l.Language, old)
	_, is := muxOf(l.Language, now)
	if was != is || was && (!equality.Semantic.DeepEqual(old.Spec, now.Spec) ||
		!equality.Semantic.DeepEqual(project.SettingsOf(old), project.SettingsOf(now))) {
		q.Add(request(key))
	}
	for _, user := range l.users(key) {
		q.Add(user)
	}
	before, after := l.asMux(old), l.asMux(now)
	if before == after {
		return
	}
	l.Metrics.set(key, after != "")
	channels, err := channelsOf(ctx, l.cache, key)
	if err != nil {
		log.FromContext(ctx).Error(err, "Some backends may wait for their next change", "mux", key)
	}
	if l.Claimants != nil {
		channels = append(channels, l.Claimants.KeysOn(key)...)
	}
	for _, channel := range channels {
		q.Add(request(channel))
	}
}

// asMux returns everything of a mux that slices depend on; empty if a Service isn't a mux.
func (l *line) asMux(svc *corev1.Service) string {
	if svc == nil || !l.mux(svc).IsMux {
		return ""
	}
	return fmt.Sprint(l.mux(svc))
}

// onMuxes wakes a mux for each event of it.
func (l *line) onMuxes() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		if l.asMux(object.(*corev1.Service)) == "" {
			return nil
		}
		return []reconcile.Request{request(client.ObjectKeyFromObject(object))}
	})
}
