package backends

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// queue is what a worker takes channels from.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Waker wakes the line for channels whose claims have changed: ledger.NewBoard takes its Wake. Before the line runs it
// does nothing: every channel is looked at when the line starts.
type Waker struct {
	mu    sync.Mutex
	queue queue
}

// Wake has channels looked at.
func (w *Waker) Wake(channels []types.NamespacedName) {
	w.mu.Lock()
	queue := w.queue
	w.mu.Unlock()
	if queue == nil {
		return
	}
	for _, channel := range channels {
		queue.Add(reconcile.Request{NamespacedName: channel})
	}
}

func (w *Waker) source() source.Source {
	return source.Func(func(_ context.Context, queue queue) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.queue = queue
		return nil
	})
}

// onSlice wakes the channel that a slice belongs to: ours so that what somebody else does to them is put right at once,
// others if their Service is a channel. If that Service comes later, it wakes itself.
func (l *line) onSlice() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		slice := object.(*discoveryv1.EndpointSlice)
		l.written.Seen(slice)
		if channel, waits := l.refused.waiting(client.ObjectKeyFromObject(slice)); waits {
			return []reconcile.Request{{NamespacedName: channel}}
		}
		if muxslices.IsOurSlice(l.keys, slice) {
			return l.carriedIn(ctx, slice)
		}
		channel := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		if channel.Name == "" || !l.isChannel(ctx, channel) {
			return nil
		}
		return []reconcile.Request{{NamespacedName: channel}}
	})
}

// carriedIn returns the channel that one of our slices was in place for, and the channel that it names if that one's mux
// owns the slice. Slices that others gave our labels wake nobody.
func (l *line) carriedIn(ctx context.Context, slice *discoveryv1.EndpointSlice) []reconcile.Request {
	var requests []reconcile.Request
	had, inPlace := l.inPlace.channelOf(client.ObjectKeyFromObject(slice))
	if inPlace {
		requests = append(requests, reconcile.Request{NamespacedName: had})
	}
	if channel, told := muxslices.ChannelOfSlice(l.keys, slice); told && channel != had && l.isOwned(ctx, channel, slice) {
		requests = append(requests, reconcile.Request{NamespacedName: channel})
	}
	return requests
}

// isOwned is true for a slice that is owned by the mux of a channel, or by the one that the channel was on before.
func (l *line) isOwned(ctx context.Context, channel types.NamespacedName, slice *discoveryv1.EndpointSlice) bool {
	owners := muxslices.OwnersOfSlice(slice)
	if last, known := l.inPlace.lastMux(channel); known && slices.Contains(owners, last.uid) {
		return true
	}
	svc, err := l.get(ctx, channel)
	if err != nil || svc == nil {
		return false
	}
	key, attached := muxOf(l.Language, svc)
	if !attached || key.Namespace != slice.Namespace {
		return false
	}
	mux, err := l.get(ctx, key)
	return err == nil && mux != nil && slices.Contains(owners, mux.UID)
}

func (l *line) isChannel(ctx context.Context, key types.NamespacedName) bool {
	var svc corev1.Service
	if err := l.cache.Get(ctx, key, &svc, client.UnsafeDisableDeepCopy); err != nil {
		return false
	}
	_, attached := muxOf(l.Language, &svc)
	return attached
}

// onService wakes a channel that begins or ceases to be one or whose port names change, and all channels of a mux of which
// something changes that slices depend on. Addresses and annotations are none of that, nor are a mux's ports.
func (l *line) onService() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { l.service(ctx, nil, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { l.service(ctx, e.ObjectOld, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { l.service(ctx, e.Object, nil, q) },
	}
}

// role is what a Service is to the line.
type role struct {
	attached types.NamespacedName // the mux that it names
	ports    string               // the names and numbers of a channel's ports
	isMux    bool
	uid      types.UID
	deleting bool
	families string
}

func (l *line) roleOf(object client.Object) role {
	if object == nil {
		return role{}
	}
	svc := object.(*corev1.Service)
	var r role
	if mux, attached := muxOf(l.Language, svc); attached {
		r.attached, r.ports = mux, textPorts(svc.Spec.Ports)
	}
	if carrier := l.carrier(svc); carrier.IsMux {
		r.isMux, r.uid, r.deleting = true, carrier.UID, carrier.Deleting
		for _, family := range carrier.Families {
			r.families += string(family)
		}
	}
	return r
}

// textPorts has what tells that a port was renamed.
func textPorts(ports []corev1.ServicePort) string {
	var text strings.Builder
	for i := range ports {
		_, _ = fmt.Fprintf(&text, "%s %d/%s ", ports[i].Name, ports[i].Port, ports[i].Protocol)
	}
	return text.String()
}

func (l *line) service(ctx context.Context, old, now client.Object, q queue) {
	before, after := l.roleOf(old), l.roleOf(now)
	object := now
	if object == nil {
		object = old
	}
	key := client.ObjectKeyFromObject(object)
	if before.attached != after.attached || before.ports != after.ports {
		q.Add(reconcile.Request{NamespacedName: key})
	}
	before.attached, after.attached = types.NamespacedName{}, types.NamespacedName{}
	before.ports, after.ports = "", ""
	if before == after {
		return
	}
	if after.isMux {
		l.Metrics.begin(key)
	} else {
		l.Metrics.forget(key)
	}
	for _, channel := range l.carriedBy(ctx, key) {
		q.Add(reconcile.Request{NamespacedName: channel})
	}
}

// carriedBy returns the channels that name a mux, and those that our slices on it carry.
func (l *line) carriedBy(ctx context.Context, mux types.NamespacedName) []types.NamespacedName {
	channels, err := channelsOf(ctx, l.cache, mux)
	if err != nil {
		log.FromContext(ctx).Error(err, "Some backends may wait for their next change", "mux", mux)
	}
	carried, err := OnMux(ctx, l.cache, mux)
	if err != nil {
		log.FromContext(ctx).Error(err, "Some backends may wait for their next change", "mux", mux)
	}
	for _, slice := range carried {
		if channel, told := muxslices.ChannelOfSlice(l.keys, slice); told {
			channels = append(channels, channel)
		}
	}
	return channels
}
