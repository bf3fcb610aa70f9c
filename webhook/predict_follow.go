package webhook

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// follower copies objects from the API server into stores. It runs until it is stopped: without rights, or while the
// API server is down, it retries, and logs the failure once.
type follower struct {
	// what names the objects in the log.
	what  string
	feeds []feed
	log   *zap.Logger
	// readyChanged is called with true when the follower becomes ready, and with false when it is no longer ready.
	readyChanged func(bool)

	mu     sync.Mutex
	states []feedState
	warned bool // a failure was logged since the follower was last ready
}

// feed is one kind of objects.
type feed struct {
	client   rest.Interface
	resource string
	object   runtime.Object
	list     func() runtime.Object
	// store returns a store. The store calls read when it has got a complete list of the objects.
	store func(read func()) cache.ReflectorStore
	// isCustom is true for a kind that isn't installed in every cluster: the follower doesn't log that the kind is
	// missing. isNeeded is true if the follower isn't ready without the kind.
	isCustom, isNeeded bool
}

// feedState is the state of a feed.
type feedState struct {
	read    bool // a complete list has arrived, or the kind is missing and isn't needed
	failing bool // the last request failed
}

// run copies objects until the context ends.
func (f *follower) run(ctx context.Context) {
	// The reflector would log each retry. logFailure reports the failures instead.
	ctx = klog.NewContext(ctx, logr.Discard())
	f.mu.Lock()
	f.states = make([]feedState, len(f.feeds))
	f.mu.Unlock()
	var running sync.WaitGroup
	defer running.Wait()
	for i := range f.feeds {
		feed := &f.feeds[i]
		state := &f.states[i]
		store := feed.store(func() { f.setState(func() { state.read = true }) })
		reflector := cache.NewReflectorWithOptions(f.listWatch(feed, state), feed.object, store,
			cache.ReflectorOptions{Name: feed.resource})
		running.Go(func() { reflector.RunWithContext(ctx) })
	}
}

func (f *follower) listWatch(feed *feed, state *feedState) *cache.ListWatch {
	request := func(options *metav1.ListOptions) *rest.Request {
		return feed.client.Get().Resource(feed.resource).VersionedParams(options, metav1.ParameterCodec)
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := feed.list()
			err := request(&options).Do(ctx).Into(list)
			return list, f.noteResult(ctx, feed, state, err)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			stream, err := request(&options).Watch(ctx)
			return stream, f.noteResult(ctx, feed, state, err)
		},
	}
}

// ready says that the stores are complete and up to date.
func (f *follower) ready() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.isReady()
}

func (f *follower) isReady() bool {
	for _, state := range f.states {
		if !state.read || state.failing {
			return false
		}
	}
	return len(f.states) > 0
}

// noteResult records whether a request failed, and returns the request's error. Expected errors aren't failures. A 404
// for a custom resource isn't one either: it says that the CRD isn't installed.
func (f *follower) noteResult(ctx context.Context, feed *feed, state *feedState, err error) error {
	switch {
	case ctx.Err() != nil || isExpected(err):
	case feed.isCustom && apierrors.IsNotFound(err):
		f.setState(func() { state.read, state.failing = !feed.isNeeded, false })
	default:
		f.setState(func() { state.failing = err != nil })
		if err != nil {
			f.logFailure(err)
		}
	}
	return err
}

// isExpected says that the error comes from a healthy API server, which can't stream a list, or no longer has the
// requested resourceVersion. The reflector then asks in another way.
func isExpected(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// setState changes the state, and reports when predictions start or stop.
func (f *follower) setState(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.isReady()
	change()
	is := f.isReady()
	if is == was {
		return
	}
	f.readyChanged(is)
	if is {
		f.warned = false
		f.log.Info("predictions are made: all " + f.what + " were read")
	}
}

func (f *follower) logFailure(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.warned {
		f.warned = true
		f.log.Warn("no predictions are made: "+f.what+" can't be read (logged once, until they can); admission continues "+
			"without predictions", zap.Error(err))
	}
	f.log.Debug(f.what+" can't be read", zap.Error(err))
}
