package plan

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/fair"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/bench/figure"
	"nowake.ai/svc-lb-mux/validation"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// BenchmarkWorstOthers decides about eight muxes of one namespace over and over, each with the slowest possible
// decision. It measures how long a mux of another namespace waits for its decision: once with workers that the
// namespaces share fairly, and once with four workers of a plain queue.
func BenchmarkWorstOthers(b *testing.B) {
	slow, quick := worldOfPatterns(b, validation.MaxEntries, 1000, 1), atRest(b, world(b, 10))
	quick.Key.Namespace = "quick"
	limiter := workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]
	decide := func(w plan.World) *plan.Plan { return plan.Mux(w, plan.Memory{}) }
	alike := waits(b, priorityqueue.New("plain",
		func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter() }),
		4, decide, slow, quick)
	turns := fair.NewTurns()
	inTurn := func(w plan.World) *plan.Plan {
		defer turns.Take(w.Key.Namespace)()
		return decide(w)
	}
	shared := waits(b, fair.NewQueue(4)("fair", limiter()), 64, inTurn, slow, quick)
	fmt.Printf("plan/another-namespace-waits: the longest of 20 is %s, and %s where workers aren't shared\n", shared,
		alike)
	figure.AtMost(os.Stdout, "plan/another-namespace-waits", float64(shared.Microseconds())/1e3, "ms", 100)
}

// waits returns the longest of 20 waits.
func waits(b *testing.B, q queue, workers int, decide func(plan.World) *plan.Plan, slow,
	quick plan.World) time.Duration {
	b.Helper()
	var all sync.WaitGroup
	decided := make(chan struct{})
	for range workers {
		all.Go(func() {
			for {
				next, shutdown := q.Get()
				if shutdown {
					return
				}
				if next.Namespace == "slow" {
					decide(slow)
					q.Add(next)
				} else {
					decide(quick)
					decided <- struct{}{}
				}
				q.Done(next)
			}
		})
	}
	for i := range 8 {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "slow", Name: fmt.Sprint(i)}})
	}
	longest := time.Duration(0)
	for range 20 {
		time.Sleep(50 * time.Millisecond)
		started := time.Now()
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "quick", Name: "mux"}})
		<-decided
		longest = max(longest, time.Since(started))
	}
	q.ShutDown()
	all.Wait()
	return longest
}
