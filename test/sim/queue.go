package sim

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is a controller's, of which the scheduler says what is taken next, and when. As with controller-runtime's own,
// there is one entry for each object, and the earliest time counts.
type queue struct {
	name    string
	limiter workqueue.TypedRateLimiter[reconcile.Request]
	give    chan reconcile.Request

	mu       sync.Mutex
	due      map[reconcile.Request]time.Time
	working  map[reconcile.Request]bool
	free     int // workers that wait
	shutDown bool
}

func newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) *queue {
	return &queue{name: name, limiter: limiter, give: make(chan reconcile.Request),
		due: map[reconcile.Request]time.Time{}, working: map[reconcile.Request]bool{}}
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = (*queue)(nil)

// ready are the objects that a worker may take now, sorted.
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

// next is when something will be due that isn't; zero if nothing.
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

// hand gives an object to a worker.
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

// Add has an object taken soon.
func (q *queue) Add(item reconcile.Request) { q.add(item, time.Time{}) }

// AddAfter has it taken later.
func (q *queue) AddAfter(item reconcile.Request, wait time.Duration) {
	q.add(item, time.Now().Add(wait))
}

// AddRateLimited has it taken later each time.
func (q *queue) AddRateLimited(item reconcile.Request) { q.AddAfter(item, q.limiter.When(item)) }

// Forget ends that.
func (q *queue) Forget(item reconcile.Request) { q.limiter.Forget(item) }

// NumRequeues is how often it was taken in vain.
func (q *queue) NumRequeues(item reconcile.Request) int { return q.limiter.NumRequeues(item) }

// Get waits for the scheduler.
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

// Done is called once an object was looked after.
func (q *queue) Done(item reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.working, item)
}

// Len counts what waits.
func (q *queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.due)
}

// ShutDown sends the workers home.
func (q *queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.shutDown {
		q.shutDown = true
		close(q.give)
	}
}

// ShutDownWithDrain is the same: whoever works ends first in any case.
func (q *queue) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown says whether they were sent home.
func (q *queue) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shutDown
}
