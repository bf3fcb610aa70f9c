package selfmanaged

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/certs/follow"
)

// Options say which certificate is kept, and where.
type Options struct {
	Client        client.WithWatch
	Configuration string               // the ValidatingWebhookConfiguration's name
	Secret        types.NamespacedName // the Secret of the certificate
	Labels        map[string]string    // added to the Secret's labels
	Policy        Policy
	Now           func() time.Time
	Log           logr.Logger
}

// Keeper runs Decide and applies its steps. Only the leader runs it. If two run for a moment, the resourceVersion in
// each write keeps them from undoing each other's changes.
type Keeper struct {
	options Options
	pending *Authority
	since   map[string]time.Time
	failure atomic.Pointer[error]
}

// New returns a Keeper. Start runs it.
func New(options Options) *Keeper {
	return &Keeper{options: options, since: map[string]time.Time{}}
}

// Failure returns why the Secret or the bundle can't be kept up to date; nil if both are.
func (k *Keeper) Failure() error {
	if failure := k.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}

const (
	// passTimeout limits one call of work.
	passTimeout = 10 * time.Second
	// retryDelay is the time until the next try after a failure.
	retryDelay = 2 * time.Second
	// maxSteps is more than any change needs. Reaching it means a write conflict with another controller.
	maxSteps = 12
	// maxPause is the longest time between two calls of work. A change of an object starts a call at once.
	maxPause = 30 * time.Second
)

// Start keeps certificate and bundle until the context ends. It returns when all its goroutines have ended. The manager
// starts it only on the leader.
func (k *Keeper) Start(ctx context.Context) error {
	news := make(chan struct{}, 1)
	poke := func(follow.News) {
		select {
		case news <- struct{}{}:
		default: // a change is already queued
		}
	}
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { follow.Object(ctx, k.options.Client, &corev1.SecretList{}, k.options.Secret, poke) })
	following.Go(func() {
		follow.Object(ctx, k.options.Client, &admissionregistrationv1.ValidatingWebhookConfigurationList{},
			types.NamespacedName{Name: k.options.Configuration}, poke)
	})
	for {
		pause := k.work(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		case <-time.After(pause):
		}
	}
}

// work makes passes until no step is due. It returns the time until the next call.
func (k *Keeper) work(ctx context.Context) time.Duration {
	within, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	for range maxSteps {
		again, err := k.pass(within)
		switch {
		case ctx.Err() != nil:
			return 0
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), errors.Is(err, errChanged):
			// write conflict: observe again
			if !wait(within, retryDelay/20) {
				k.failed(err) // the conflict lasts, so report it
				return retryDelay
			}
		case err != nil:
			k.failed(err)
			return retryDelay
		case again.IsZero():
			continue
		default:
			k.recovered()
			return min(maxPause, max(retryDelay/20, again.Sub(k.options.Now())))
		}
	}
	k.failed(fmt.Errorf("after %d writes another one is needed: does another controller write Secret %s, or the CA "+
		"bundle of ValidatingWebhookConfiguration %s?", maxSteps, k.options.Secret, k.options.Configuration))
	return maxPause
}

func wait(ctx context.Context, span time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(span):
		return true
	}
}

func (k *Keeper) failed(err error) {
	before := k.failure.Swap(&err)
	if before == nil || (*before).Error() != err.Error() {
		k.options.Log.Error(err, "self-managed certificate: it can't be renewed for now; trying again",
			"secret", k.options.Secret.String(), "configuration", k.options.Configuration)
	}
}

func (k *Keeper) recovered() {
	if k.failure.Swap(nil) != nil {
		k.options.Log.Info("self-managed certificate: it is up to date again")
	}
}

// pass observes, decides and applies one step. If no step is due, it returns when the next one is.
func (k *Keeper) pass(ctx context.Context) (time.Time, error) {
	seen, err := k.observe(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if seen.world.usable() {
		k.pending = nil // the Secret's authority replaces the pending one
	}
	decision := Decide(seen.world)
	if decision.Step == Wait {
		return decision.Again, nil
	}
	if err := k.apply(ctx, seen, decision); err != nil {
		return time.Time{}, err
	}
	k.options.Log.Info("self-managed certificate: "+decision.Step.String(), "why", decision.Why,
		"secret", k.options.Secret.String(), "configuration", k.options.Configuration)
	return time.Time{}, nil
}

// String describes the step in the past tense, for the log.
func (s Step) String() string {
	return [...]string{"nothing to do", "an authority was made", "the bundle was written", "the Secret was written"}[s]
}
