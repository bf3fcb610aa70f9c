package dataplane

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

// asked counts the channels by their state so far.
type asked struct {
	mu         sync.Mutex
	programmed int
	ok, failed int
	points     []point
	over       chan struct{}
	recorded   chan struct{}
}

// point is the count of channels in each state at a time.
type point struct {
	at                            time.Duration
	created, programmed, answered int
}

// askers is the number of concurrent requests.
const askers = 8

// askAll watches the channels. It sends requests to each channel that shows its address, until its pod answers.
func (w *world) askAll(b *testing.B, begin time.Time) *asked {
	b.Helper()
	a := &asked{over: make(chan struct{}), recorded: make(chan struct{})}
	todo := make(chan question, channels)
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(apps))
	seen := map[string]bool{}
	_, err := factory.Core().V1().Services().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) {
			svc, ok := object.(*corev1.Service)
			if !ok || len(svc.Status.LoadBalancer.Ingress) == 0 || seen[svc.Name] {
				return
			}
			seen[svc.Name] = true
			_, port, _ := strings.Cut(svc.Annotations[prefix+"/ports"], "->")
			a.mu.Lock()
			a.programmed++
			a.mu.Unlock()
			todo <- question{net.JoinHostPort(svc.Status.LoadBalancer.Ingress[0].IP, port), svc.Annotations["pod"]}
		},
	})
	must(b, err)
	factory.Start(b.Context().Done())
	factory.WaitForCacheSync(b.Context().Done())
	for range askers {
		go a.work(b.Context(), w, todo)
	}
	go a.record(b.Context(), w, begin)
	return a
}

// question is an address, and the pod that must answer there.
type question struct{ address, pod string }

// work queues a question again if no answer came: kube-proxy hasn't programmed the port yet.
func (a *asked) work(ctx context.Context, w *world, todo chan question) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-todo:
			attempt, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			pod, err := packets.HTTP(attempt, w.Outside(), q.address)
			cancel()
			switch {
			case err != nil:
				todo <- q
			default:
				a.note(pod == q.pod)
			}
		}
	}
}

func (a *asked) note(right bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if right {
		a.ok++
	} else {
		a.failed++
	}
	if a.ok+a.failed == channels {
		close(a.over)
	}
}

// record stores a point every tenth of a second until the end.
func (a *asked) record(ctx context.Context, w *world, begin time.Time) {
	defer close(a.recorded)
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	for {
		a.mu.Lock()
		a.points = append(a.points, point{time.Since(begin), int(w.created.Load()), a.programmed, a.ok})
		over := a.ok+a.failed == channels
		a.mu.Unlock()
		if over {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-a.over:
		case <-ticks.C:
		}
	}
}

func (a *asked) wait(b *testing.B) {
	b.Helper()
	select {
	case <-a.recorded:
	case <-time.After(5 * time.Minute):
		a.mu.Lock()
		defer a.mu.Unlock()
		b.Fatalf("after five minutes: ok=%d missing=%d failed=%d", a.ok, channels-a.ok-a.failed, a.failed)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed > 0 {
		b.Errorf("%d channels are answered by pods of other channels", a.failed)
	}
}
