package webhook

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// follower keeps the book up to date with the API server. It never ends before it is told to: without rights, or with
// nobody to ask, it tries again, and says so once.
type follower struct {
	services rest.Interface
	log      *zap.Logger
	metrics  foresightMetrics

	mu      sync.Mutex
	read    bool // all Services have come once
	failing bool // the last try failed
	told    bool // that it fails
}

// connect fails on what no waiting mends. That is said, and no reason to end: admission goes on.
func (f *follower) connect(options Options, version string) {
	client, err := newClient(options.Kubeconfig, version)
	if err == nil {
		f.services = client
		return
	}
	f.log.Error("predictions are off: there is no way to the API server; admission goes on without them", zap.Error(err))
}

// run follows Services into the book until the context ends.
func (f *follower) run(ctx context.Context, book *book) {
	if f.services == nil {
		return
	}
	// Each try would be a line of its own there; what matters of them is said here.
	ctx = klog.NewContext(ctx, logr.Discard())
	cache.NewReflectorWithOptions(f.listWatch(), &corev1.Service{}, book, cache.ReflectorOptions{Name: "services"}).
		RunWithContext(ctx)
}

func (f *follower) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := &corev1.ServiceList{}
			err := servicesBy(f.services, &options).Do(ctx).Into(list)
			return list, f.heard(ctx, err)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			stream, err := servicesBy(f.services, &options).Watch(ctx)
			return stream, f.heard(ctx, err)
		},
	}
}

// ready is true while the book is to be gone by: it is complete, and is being kept so.
func (f *follower) ready() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read && !f.failing
}

// complete is called once all Services have come.
func (f *follower) complete() { f.turn(func() { f.read = true }) }

// heard passes an answer of the API server on.
func (f *follower) heard(ctx context.Context, err error) error {
	if ctx.Err() != nil || ordinary(err) {
		return err
	}
	f.turn(func() { f.failing = err != nil })
	if err != nil {
		f.complain(err)
	}
	return err
}

// ordinary answers come from API servers in good health: one that can't stream a list, or that has forgotten what is
// asked for. They are asked again in another way.
func ordinary(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// turn changes the state, and says if that begins or ends something.
func (f *follower) turn(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.read && !f.failing
	change()
	is := f.read && !f.failing
	if is == was {
		return
	}
	f.metrics.ready(is)
	if is {
		f.told = false
		f.log.Info("predictions are made: all Services are known")
	}
}

func (f *follower) complain(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.told {
		f.told = true
		f.log.Warn("no predictions are made: Services can't be read (this is said once, until they can); admission goes on "+
			"without", zap.Error(err))
	}
	f.log.Debug("Services can't be read", zap.Error(err))
}
