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

// follower keeps the index up to date with the API server. It runs until it is stopped: without rights, or while the
// API server is down, it retries, and logs the failure once.
type follower struct {
	services rest.Interface
	log      *zap.Logger
	metrics  predictionMetrics

	mu      sync.Mutex
	read    bool // all Services have arrived once
	failing bool // the last request failed
	warned  bool // the failure was logged
}

// connect makes the client. A failure can't be cured by waiting, so it is logged; admission continues without
// predictions.
func (f *follower) connect(options Options, version string) {
	client, err := newClient(options.Kubeconfig, version)
	if err == nil {
		f.services = client
		return
	}
	f.log.Error("predictions are off: the API server can't be reached with this configuration; admission continues without them", zap.Error(err))
}

// run copies Services into the index until the context ends.
func (f *follower) run(ctx context.Context, index *index) {
	if f.services == nil {
		return
	}
	// The reflector would log each retry. logFailure reports the failures instead.
	ctx = klog.NewContext(ctx, logr.Discard())
	cache.NewReflectorWithOptions(f.listWatch(), &corev1.Service{}, index, cache.ReflectorOptions{Name: "services"}).
		RunWithContext(ctx)
}

func (f *follower) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := &corev1.ServiceList{}
			err := servicesBy(f.services, &options).Do(ctx).Into(list)
			return list, f.noteResult(ctx, err)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			stream, err := servicesBy(f.services, &options).Watch(ctx)
			return stream, f.noteResult(ctx, err)
		},
	}
}

// ready says that the index is complete and up to date.
func (f *follower) ready() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read && !f.failing
}

// complete is called once all Services have arrived.
func (f *follower) complete() { f.setState(func() { f.read = true }) }

// noteResult records whether a request failed, and returns its error.
func (f *follower) noteResult(ctx context.Context, err error) error {
	if ctx.Err() != nil || isExpected(err) {
		return err
	}
	f.setState(func() { f.failing = err != nil })
	if err != nil {
		f.logFailure(err)
	}
	return err
}

// isExpected says that the error comes from a healthy API server: one that can't stream a list, or that has dropped the
// requested version. The reflector then asks in another way.
func isExpected(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// setState changes the state, and reports when predictions start or stop.
func (f *follower) setState(change func()) {
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
		f.warned = false
		f.log.Info("predictions are made: all Services were read")
	}
}

func (f *follower) logFailure(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.warned {
		f.warned = true
		f.log.Warn("no predictions are made: Services can't be read (logged once, until they can); admission continues "+
			"without predictions", zap.Error(err))
	}
	f.log.Debug("Services can't be read", zap.Error(err))
}
