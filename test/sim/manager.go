package sim

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// runner is a manager that doesn't start the runnables added to it.
type runner struct {
	manager.Manager
	*process
	cache  *memory
	client client.Client
}

// Add replaces the queue of a controller by one of the scheduler. The only way is a field of a type that is private to
// controller-runtime.
func (r *runner) Add(run manager.Runnable) error {
	if _, is := run.(manager.RunnableFunc); is {
		r.runs = append(r.runs, run)
		return nil
	}
	queues := func(name string,
		limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		q := newQueue(name, limiter)
		r.sim.mu.Lock()
		defer r.sim.mu.Unlock()
		r.queues = append(r.queues, q)
		return q
	}
	field := reflect.ValueOf(run).Elem().FieldByName("NewQueue")
	if !field.IsValid() {
		return fmt.Errorf("a %T has no NewQueue", run)
	}
	field.Set(reflect.ValueOf(queues))
	r.runs = append(r.runs, run)
	return nil
}
func (r *runner) GetCache() cache.Cache                { return r.cache }
func (r *runner) GetFieldIndexer() client.FieldIndexer { return r.cache }
func (r *runner) GetClient() client.Client             { return r.client }
func (r *runner) GetAPIReader() client.Reader          { return r.client }
func (r *runner) GetScheme() *runtime.Scheme           { return scheme.Scheme }
func (r *runner) GetLogger() logr.Logger               { return logr.Discard() }

func (r *runner) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: ptr.To(true), RecoverPanic: ptr.To(false)}
}

// events records the Events that users would see.
type events struct {
	*record.FakeRecorder
	process *process
}

func (e events) Event(about runtime.Object, _, reason, message string) {
	key := types.NamespacedName{}
	switch is := about.(type) {
	case *corev1.Service:
		key = client.ObjectKeyFromObject(is)
	case *corev1.ObjectReference: // of a Gateway, a ListenerSet or a route
		key = types.NamespacedName{Namespace: is.Namespace, Name: strings.ToLower(is.Kind) + "/" + is.Name}
	}
	e.process.tells(key, reason, message)
}

func (p *process) tells(about types.NamespacedName, reason, message string) {
	p.sim.mu.Lock()
	defer p.sim.mu.Unlock()
	if p.dead {
		return
	}
	p.sim.told[reason]++
	p.sim.later(fmt.Sprintf("%s tells of %s: %s: %s", p.name, about, reason, message))
}

// figures implements the metrics and drops them.
type figures struct{}

func (figures) Decided(*plan.Plan, time.Duration)           {}
func (figures) Applied(types.NamespacedName, time.Duration) {}
func (figures) Wrote(string)                                {}
func (figures) Programmed(*plan.ObservedChannel)            {}
func (figures) Repeated(types.NamespacedName)               {}
func (figures) Forget(types.NamespacedName)                 {}
