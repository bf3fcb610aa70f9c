package fair

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func request(namespace string, n int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("mux-%d", n)}}
}

func newQueue(t *testing.T, share int) *queue {
	t.Helper()
	q := NewQueue(share)("mux", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()).(*queue)
	t.Cleanup(func() { end(q) })
	return q
}

// end shuts a queue down once: the queue beneath can't be shut down twice.
func end(q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if !q.ShuttingDown() {
		q.ShutDown()
	}
}

// workers take requests from a queue, and hold each until it is released.
type workers struct {
	began   chan reconcile.Request
	release map[string]chan struct{} // channels by namespace
}

func start(t *testing.T, q workqueue.TypedRateLimitingInterface[reconcile.Request], count int,
	held ...string) *workers {
	t.Helper()
	w := &workers{began: make(chan reconcile.Request, 1000), release: map[string]chan struct{}{}}
	for _, namespace := range held {
		w.release[namespace] = make(chan struct{})
	}
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			for {
				next, shutdown := q.Get()
				if shutdown {
					return
				}
				w.began <- next
				if held := w.release[next.Namespace]; held != nil {
					<-held
				}
				q.Done(next)
			}
		})
	}
	t.Cleanup(func() {
		for _, held := range w.release {
			close(held)
		}
		end(q)
		all.Wait()
	})
	return w
}

// await collects the started requests until there are enough of the namespace.
func (w *workers) await(namespace string, count int) map[string]int {
	began := map[string]int{}
	for began[namespace] < count {
		began[(<-w.began).Namespace]++
	}
	return began
}

// TestASlowNamespaceDoesNotHoldAllWorkers adds twice as many slow requests as workers. The test would never end if they
// occupied all workers.
func TestASlowNamespaceDoesNotHoldAllWorkers(t *testing.T) {
	q := newQueue(t, 2)
	w := start(t, q, 4, "slow")
	for i := range 8 {
		q.Add(request("slow", i))
	}
	w.await("slow", 2)
	for i := range 20 {
		q.Add(request("quick", i))
	}
	if began := w.await("quick", 20); began["slow"] > 0 {
		t.Errorf("%d requests of the slow namespace started beyond its share", began["slow"])
	}
}

// TestWaitingRequestIsTakenAtOnce checks that a free worker takes the next request that waits in its namespace, in
// order.
func TestWaitingRequestIsTakenAtOnce(t *testing.T) {
	q := newQueue(t, 1)
	for i := range 3 {
		q.AddWithOpts(priorityqueue.AddOpts{}, request("a", i))
	}
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-100)}, request("b", 0))
	first, _ := q.Get()
	other, _ := q.Get() // holds back two requests of namespace a
	if first != request("a", 0) || other != request("b", 0) {
		t.Fatalf("got %v and %v", first, other)
	}
	for i := range 2 {
		q.Done(request("a", i))
		if next, _ := q.Get(); next != request("a", i+1) {
			t.Fatalf("got %v, want %v", next, request("a", i+1))
		}
	}
}

func TestHigherPriorityIsTakenFirst(t *testing.T) {
	q := newQueue(t, 1)
	add := func(n, priority int) { q.AddWithOpts(priorityqueue.AddOpts{Priority: new(priority)}, request("a", n)) }
	pass := func() { // holds back all added requests of namespace a
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-200)}, request("b", 0))
		next, _ := q.Get()
		q.Done(next)
	}
	add(0, 0)
	q.Get()
	add(1, -100)
	add(2, -100)
	pass()
	add(3, 0)
	pass()
	for i, want := range []int{3, 1, 2} {
		q.Done(request("a", []int{0, 3, 1}[i]))
		if next, _ := q.Get(); next != request("a", want) {
			t.Fatalf("got %v, want %v", next, request("a", want))
		}
	}
}

// TestNoRequestIsLostOrRunsTwiceAtOnce adds requests again and again, also while they wait or run.
func TestNoRequestIsLostOrRunsTwiceAtOnce(t *testing.T) {
	const namespaces, muxes, share = 5, 10, 2
	q := newQueue(t, share)
	var mu sync.Mutex
	busy, inNamespace, done := map[reconcile.Request]bool{}, map[string]int{}, map[reconcile.Request]int{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				next, shutdown := q.Get()
				if shutdown {
					return
				}
				mu.Lock()
				if busy[next] || inNamespace[next.Namespace] == share {
					t.Errorf("%v runs twice at once, or beyond its namespace's share", next)
				}
				busy[next] = true
				inNamespace[next.Namespace]++
				mu.Unlock()
				runtime.Gosched() // lets other goroutines run
				mu.Lock()
				delete(busy, next)
				inNamespace[next.Namespace]--
				done[next]++
				mu.Unlock()
				q.Done(next)
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		q.Add(request(fmt.Sprintf("ns-%d", random.IntN(namespaces)), random.IntN(muxes)))
	}
	last := map[reconcile.Request]int{}
	for ns := range namespaces {
		for n := range muxes {
			mu.Lock()
			last[request(fmt.Sprintf("ns-%d", ns), n)] = done[request(fmt.Sprintf("ns-%d", ns), n)]
			mu.Unlock()
			q.Add(request(fmt.Sprintf("ns-%d", ns), n))
		}
	}
	for left := true; left; { // ends only if each request runs again
		left = false
		runtime.Gosched()
		mu.Lock()
		for key, before := range last {
			left = left || done[key] == before
		}
		mu.Unlock()
	}
	q.ShutDown()
	all.Wait()
}
