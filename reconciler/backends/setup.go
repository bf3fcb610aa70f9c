package backends

import (
	"cmp"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/controllers"
	"nowake.ai/svc-lb-mux/reconciler/fair"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

const (
	// DefaultConcurrency is how many channels of one namespace are reconciled at once.
	DefaultConcurrency = 8
	// namespacesAtOnce is how many namespaces can use their whole share of workers before another namespace waits.
	namespacesAtOnce = 4
	// The shortest and the longest pause after a write conflict.
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Minute
)

// Claims returns a channel's claims in force on a mux. known is false until the mux was decided for the first time.
// Until then, the line changes no slice of the channel on the mux.
type Claims func(channel, mux types.NamespacedName) (claims []plan.Claim, known bool)

// Options is what the line needs of its process.
type Options struct {
	Language validation.Language
	Claims   Claims
	Waker    *Waker
	// Writer writes slices, and removes Endpoints. In a dry run it writes nothing.
	Writer client.Writer
	// Print makes a dry run: it gets each decision, and nothing is applied. It may be nil.
	Print func(*project.Decision)
	// Claimants are channels that are no Services; nil if there are none.
	Claimants Claimants
	// Live reads the Endpoints of muxes past the cache.
	Live client.Reader
	// Tell emits an Event.
	Tell func(plan.Event)
	// Reports gets what the mux line writes into conditions about backends. Reports and Metrics may be nil.
	Reports *Reports
	Metrics *Metrics
	// LooksAfter is false for muxes of another reconciler: their slices aren't touched. If nil, all muxes are ours.
	LooksAfter func(mux types.NamespacedName) bool
	// Concurrency is how many channels of one namespace are reconciled at once; DefaultConcurrency if 0.
	Concurrency int
	// Now is time.Now if nil.
	Now func() time.Time
}

func (o *Options) complete() error {
	o.Concurrency = cmp.Or(o.Concurrency, DefaultConcurrency)
	o.Metrics = cmp.Or(o.Metrics, NewMetrics())
	o.Reports = cmp.Or(o.Reports, &Reports{})
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LooksAfter == nil {
		o.LooksAfter = func(types.NamespacedName) bool { return true }
	}
	if o.Claims == nil || o.Waker == nil || o.Writer == nil || o.Live == nil || o.Tell == nil {
		return errors.New("backends: Claims, Waker, Writer, Live and Tell must be given")
	}
	return nil
}

// Setup registers the line, the sweeper and the takeover with a manager, whose cache has the Index.
func Setup(mgr manager.Manager, options Options) error {
	if err := options.complete(); err != nil {
		return err
	}
	l := newLine(options, mgr.GetCache())
	err := add(mgr, "backends", l, options.Concurrency,
		source.Kind[client.Object](mgr.GetCache(), &discoveryv1.EndpointSlice{}, l.onSlice()),
		source.Kind(mgr.GetCache(), &corev1.Service{}, controllers.OnChange(l.onService)),
		options.Waker.source())
	return errors.Join(err, setupSweeper(mgr, l), setupTakeover(mgr, l))
}

// add adds a controller that reconciles up to share objects of a namespace at once. With a share of 1 it reconciles one
// object at a time.
func add(mgr manager.Manager, name string, r reconcile.Reconciler, share int, sources ...source.Source) error {
	options := controller.Options{Reconciler: r}
	if share > 1 {
		options.MaxConcurrentReconciles, options.NewQueue = namespacesAtOnce*share, fair.NewQueue(share)
	}
	return controllers.Add(mgr, name, options, sources...)
}
