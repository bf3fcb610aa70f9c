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

// Options say what is kept, and where.
type Options struct {
	Client        client.WithWatch
	Configuration string               // the ValidatingWebhookConfiguration's name
	Secret        types.NamespacedName // its Secret
	Labels        map[string]string    // of the Secret, beside what others put there
	Policy        Policy
	Now           func() time.Time
	Log           logr.Logger
}

// Keeper is the shell around Decide. Only one is to run at a time; should there be two for a moment, the resourceVersions
// that each write carries keep them from undoing each other's.
type Keeper struct {
	options Options
	pending *Authority
	since   map[string]time.Time
	failure atomic.Pointer[error]
}

// New does nothing yet.
func New(options Options) *Keeper {
	return &Keeper{options: options, since: map[string]time.Time{}}
}

// Failure says why the Secret or the bundle can't be kept; nil if they are.
func (k *Keeper) Failure() error {
	if failure := k.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}

const (
	// patience is for one pass.
	patience = 10 * time.Second
	// retry is after a failure.
	retry = 2 * time.Second
	// mostSteps are more than anything takes: whoever makes them quarrels with somebody.
	mostSteps = 12
	// idle is the longest time between two looks, though news comes at once.
	idle = 30 * time.Second
)

// Start keeps certificate and bundle until the context ends, and returns when nothing of it runs any more. It is a Runnable
// that waits to lead.
func (k *Keeper) Start(ctx context.Context) error {
	news := make(chan struct{}, 1)
	poke := func(follow.News) {
		select {
		case news <- struct{}{}:
		default: // somebody said so already
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

// work takes steps until there is none left, and returns how long to wait.
func (k *Keeper) work(ctx context.Context) time.Duration {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for range mostSteps {
		again, err := k.pass(within)
		switch {
		case ctx.Err() != nil:
			return 0
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), errors.Is(err, errChanged):
			// somebody was faster: begin with what is there now
			if !wait(within, retry/20) {
				k.failed(err) // it isn't a matter of being first, then
				return retry
			}
		case err != nil:
			k.failed(err)
			return retry
		case again.IsZero():
			continue
		default:
			k.recovered()
			return min(idle, max(retry/20, again.Sub(k.options.Now())))
		}
	}
	k.failed(fmt.Errorf("after %d writes there is still one to make: does somebody else write Secret %s, or the CA bundle of "+
		"ValidatingWebhookConfiguration %s?", mostSteps, k.options.Secret, k.options.Configuration))
	return idle
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
		k.options.Log.Error(err, "self-managed certificate: it can't be kept for now; trying again",
			"secret", k.options.Secret.String(), "configuration", k.options.Configuration)
	}
}

func (k *Keeper) recovered() {
	if k.failure.Swap(nil) != nil {
		k.options.Log.Info("self-managed certificate: it is kept again")
	}
}

// pass observes, decides and applies one step. A time says that there was none to take until then.
func (k *Keeper) pass(ctx context.Context) (time.Time, error) {
	seen, err := k.observe(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if seen.world.usable() {
		k.pending = nil // somebody's Secret is there, so ours won't be
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

// String is what was done.
func (s Step) String() string {
	return [...]string{"nothing to do", "an authority was made", "the bundle was written", "the Secret was written"}[s]
}
