// Package fair shares a controller's workers between namespaces: a namespace with slow requests holds only a few
// workers, and the others stay free for the other namespaces.
package fair

import (
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// NewQueue returns a function for controller.Options.NewQueue. Its queue hands out at most share requests of one
// namespace at a time. The controller needs several times as many workers: with n times share, n namespaces can use up
// their share before another one waits. Idle workers cost nothing.
func NewQueue(share int) func(string,
	workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(controller string,
		limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		return &queue{
			PriorityQueue: priorityqueue.New(controller, func(o *priorityqueue.Opts[reconcile.Request]) {
				o.RateLimiter = limiter
			}),
			share: share, namespaces: map[string]*namespace{},
		}
	}
}

// queue holds a request back while its namespace has used up its share of workers. To the queue beneath, such a request
// is still being worked on. So the queue beneath keeps changes that arrive for the request meanwhile, and hands them
// out later.
//
//	beneath ──GetWithPriority──▶ free? ──▶ worker ──Done──▶ next of the namespace
//	                               └ no ─▶ waiting                ▲
//	                                          └───────────────────┘
//
// A worker that is done asks for its next request. So there is always a worker for a request that Done released.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	share int

	mu         sync.Mutex
	namespaces map[string]*namespace
	freed      []string // namespaces with waiting requests in which a request is done
}

// namespace holds the requests of one namespace.
type namespace struct {
	busy    int
	waiting []turn // by priority, then by arrival
}

type turn struct {
	request  reconcile.Request
	priority int
}

// Get returns the next request.
func (q *queue) Get() (reconcile.Request, bool) {
	request, _, shutdown := q.GetWithPriority()
	return request, shutdown
}

// GetWithPriority waits for a request whose namespace has a free share.
func (q *queue) GetWithPriority() (reconcile.Request, int, bool) {
	for {
		if next, found := q.released(); found {
			return next.request, next.priority, q.ShuttingDown()
		}
		request, priority, shutdown := q.PriorityQueue.GetWithPriority()
		if shutdown {
			return request, priority, true
		}
		if next, found := q.offer(turn{request, priority}); found {
			return next.request, next.priority, false
		}
	}
}

// Done frees a place for the next request of the namespace.
func (q *queue) Done(request reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ns := q.namespaces[request.Namespace]; ns != nil {
		ns.busy--
		switch {
		case len(ns.waiting) > 0:
			q.freed = append(q.freed, request.Namespace)
		case ns.busy == 0:
			delete(q.namespaces, request.Namespace)
		}
	}
	q.PriorityQueue.Done(request)
}

// offer adds a request to the waiting ones of its namespace, and takes the first of them if the share allows.
func (q *queue) offer(it turn) (turn, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ns := q.namespaces[it.request.Namespace]
	if ns == nil {
		ns = &namespace{}
		q.namespaces[it.request.Namespace] = ns
	}
	at, _ := slices.BinarySearchFunc(ns.waiting, it.priority, func(waiting turn, priority int) int {
		if waiting.priority >= priority {
			return -1
		}
		return 1
	})
	ns.waiting = slices.Insert(ns.waiting, at, it)
	return q.take(ns)
}

// released takes a request for which Done has freed a place.
func (q *queue) released() (turn, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.freed) > 0 {
		name := q.freed[0]
		q.freed = q.freed[1:]
		if ns := q.namespaces[name]; ns != nil {
			if next, found := q.take(ns); found {
				return next, true
			}
		}
	}
	return turn{}, false
}

func (q *queue) take(ns *namespace) (turn, bool) {
	if ns.busy >= q.share || len(ns.waiting) == 0 {
		return turn{}, false
	}
	next := ns.waiting[0]
	ns.waiting = slices.Delete(ns.waiting, 0, 1)
	ns.busy++
	return next, true
}
