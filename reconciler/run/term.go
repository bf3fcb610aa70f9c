package run

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"nowake.ai/svc-lb-mux/reconciler/services"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// term is the work of one leadership: the lines and their memory, their metrics, and the controllers that run them. A
// process that loses its lease drops the term, so the next one starts without stale memory. The caches stay filled.
type term struct {
	manager  manager.Manager
	cache    *termCache
	line     *services.Line
	registry *prometheus.Registry
	news     *listenerNews
	// rebuildFrom is set when the term begins: see mux.Options.
	rebuildFrom atomic.Pointer[time.Time]
}

func (t *term) mayRebuildFrom() time.Time {
	if from := t.rebuildFrom.Load(); from != nil {
		return *from
	}
	return time.Time{}
}

// terms holds the term that runs or runs next.
type terms struct {
	build func() (*term, error)
	// now is the clock, and wait is how long another process may believe that it still leads after this one has become the
	// leader.
	now     func() time.Time
	wait    time.Duration
	news    *listenerNews
	current atomic.Pointer[term]
	leads   atomic.Bool
}

// listenerNews tells the console which muxes' listeners changed. The console begins to listen after the first term is
// built.
type listenerNews struct {
	to atomic.Pointer[func(mux types.NamespacedName)]
}

func (n *listenerNews) tell(mux types.NamespacedName) {
	if to := n.to.Load(); to != nil {
		(*to)(mux)
	}
}

func newTerms(now func() time.Time, wait time.Duration, news *listenerNews, build func() (*term, error)) (*terms,
	error) {
	first, err := build()
	if err != nil {
		return nil, err
	}
	t := &terms{build: build, now: now, wait: wait, news: news}
	t.current.Store(first)
	return t, nil
}

// work runs the current term until the context ends, and builds the next one.
func (t *terms) work(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // told to end before it started
	}
	now, from := t.current.Load(), t.now().Add(t.wait)
	now.rebuildFrom.Store(&from)
	t.leads.Store(true)
	err := now.manager.Start(ctx)
	t.leads.Store(false)
	now.cache.close()
	next, failed := t.build()
	if failed == nil {
		t.current.Store(next)
	}
	return errors.Join(err, failed)
}

// Gather returns the metrics of the current term.
func (t *terms) Gather() ([]*dto.MetricFamily, error) { return t.current.Load().registry.Gather() }

func (t *terms) line() *services.Line { return t.current.Load().line }

// The console uses the line of the current term.

func (t *terms) Look(ctx context.Context, mux types.NamespacedName) (*sight.Sight, error) {
	return t.line().Look(ctx, mux)
}

func (t *terms) News(ctx context.Context, informers cache.Cache, changed func(mux types.NamespacedName)) error {
	t.news.to.Store(&changed)
	return t.line().News(ctx, informers, changed)
}

func (t *terms) Spoken(ctx context.Context) ([]types.NamespacedName, error) {
	return t.line().Spoken(ctx)
}

func (t *terms) Service(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	return t.line().Service(ctx, key)
}

func (t *terms) MuxOf(svc *corev1.Service) (types.NamespacedName, bool) { return t.line().MuxOf(svc) }

func (t *terms) LooksAfter(mux types.NamespacedName) bool { return t.line().LooksAfter(mux) }

// termStopTimeout is how long a term waits for its workers to stop. It leaves the process time to release its lease.
const termStopTimeout = stopTimeout - releaseTimeout - time.Second

// termManager makes a manager that runs controllers on the process's caches.
func (p Process) termManager(process *processManager, logger logr.Logger) (manager.Manager, *termCache, error) {
	caches := &termCache{Cache: process.GetCache()}
	unnamed := true
	m, err := manager.New(p.Config, manager.Options{
		Scheme: newScheme(), MapperProvider: newMapper, Logger: logger,
		NewCache:               func(*rest.Config, cache.Options) (cache.Cache, error) { return caches, nil },
		NewClient:              func(*rest.Config, client.Options) (client.Client, error) { return process.GetClient(), nil },
		BaseContext:            func() context.Context { return process.base },
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0", GracefulShutdownTimeout: ptr.To(termStopTimeout),
		Controller: config.Controller{SkipNameValidation: &unnamed}, // each term's controllers have the same names
	})
	return m, caches, err
}

// termCache is the process's cache for the controllers of one term. The cache outlives the term, so close removes the
// event handlers that the term has added.
type termCache struct {
	cache.Cache

	mu     sync.Mutex
	closed bool
	added  []func()
}

// Start does nothing: the process runs its cache.
func (*termCache) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (c *termCache) GetInformer(ctx context.Context, object client.Object,
	options ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, object, options...)
	return &termInformer{informer, c}, err
}

func (c *termCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, remove := range c.added {
		remove()
	}
	c.added = nil
}

// termInformer records the added event handlers. Controllers add theirs with AddEventHandlerWithOptions only.
type termInformer struct {
	cache.Informer
	term *termCache
}

func (i *termInformer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler,
	options toolscache.HandlerOptions) (
	toolscache.ResourceEventHandlerRegistration, error) {
	i.term.mu.Lock()
	defer i.term.mu.Unlock()
	if i.term.closed {
		return nil, errors.New("the term has ended")
	}
	added, err := i.Informer.AddEventHandlerWithOptions(handler, options)
	if err == nil {
		i.term.added = append(i.term.added, func() { _ = i.Informer.RemoveEventHandler(added) })
	}
	return added, err
}
