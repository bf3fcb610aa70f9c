package sim

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is a controller's work queue. The scheduler decides which item is taken, and when. As in controller-runtime's
// queues, each object has one item, and its earliest time counts.
type queue struct {
	name    string
	limiter workqueue.TypedRateLimiter[reconcile.Request]
	give    chan reconcile.Request

	mu       sync.Mutex
	due      map[reconcile.Request]time.Time
	working  map[reconcile.Request]bool
	free     int // waiting workers
	shutDown bool
}

func newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) *queue {
	return &queue{name: name, limiter: limiter, give: make(chan reconcile.Request),
		due: map[reconcile.Request]time.Time{}, working: map[reconcile.Request]bool{}}
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = (*queue)(nil)

// ready returns the items that a worker may take now, sorted.
func (q *queue) ready() []reconcile.Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free == 0 || q.shutDown {
		return nil
	}
	var list []reconcile.Request
	now := time.Now()
	for item, at := range q.due {
		if !at.After(now) && !q.working[item] {
			list = append(list, item)
		}
	}
	slices.SortFunc(list, func(a, b reconcile.Request) int { return cmp.Compare(a.String(), b.String()) })
	return list
}

// next returns the earliest time of the items that aren't due yet, or zero.
func (q *queue) next() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	var first time.Time
	now := time.Now()
	for _, at := range q.due {
		if at.After(now) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// hand gives an item to a worker.
func (q *queue) hand(item reconcile.Request) {
	q.mu.Lock()
	delete(q.due, item)
	q.working[item] = true
	q.free--
	q.mu.Unlock()
	q.give <- item
}

func (q *queue) add(item reconcile.Request, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if before, known := q.due[item]; !q.shutDown && (!known || at.Before(before)) {
		q.due[item] = at
	}
}

// Add queues an item to be taken at once.
func (q *queue) Add(item reconcile.Request) { q.add(item, time.Time{}) }

// AddAfter queues an item to be taken later.
func (q *queue) AddAfter(item reconcile.Request, wait time.Duration) {
	q.add(item, time.Now().Add(wait))
}

// AddRateLimited queues an item with a longer delay each time.
func (q *queue) AddRateLimited(item reconcile.Request) { q.AddAfter(item, q.limiter.When(item)) }

// Forget resets the delay of an item.
func (q *queue) Forget(item reconcile.Request) { q.limiter.Forget(item) }

// NumRequeues returns how often an item was requeued with a delay.
func (q *queue) NumRequeues(item reconcile.Request) int { return q.limiter.NumRequeues(item) }

// Get waits until the scheduler hands an item over.
func (q *queue) Get() (reconcile.Request, bool) {
	q.mu.Lock()
	if q.shutDown {
		q.mu.Unlock()
		return reconcile.Request{}, true
	}
	q.free++
	q.mu.Unlock()
	item, open := <-q.give
	return item, !open
}

// Done is called after an item was processed.
func (q *queue) Done(item reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.working, item)
}

// Len counts the waiting items.
func (q *queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.due)
}

// ShutDown ends the workers.
func (q *queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.shutDown {
		q.shutDown = true
		close(q.give)
	}
}

// ShutDownWithDrain is ShutDown: workers finish their item in any case.
func (q *queue) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown returns whether the workers were ended.
func (q *queue) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shutDown
}
