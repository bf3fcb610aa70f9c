package mux

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/fair"
	"nowake.ai/svc-lb-mux/reconciler/fresh"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Options are what a line is made from.
type Options struct {
	Language validation.Language
	// Name tells this reconciler from others in the cluster.
	Name string
	// Namespaces are those whose muxes are looked after; all if there are none.
	Namespaces []string
	// Cache reads from informers, Live from the API server, and Writer writes there.
	Cache  client.Reader
	Live   client.Reader
	Writer client.Client
	// Sources are the slices of a channel, OnMux ours on a mux.
	Sources, OnMux Slices
	// Carried are our slices of a channel on a mux.
	Carried CarriedSlices
	// RefusedSlices returns the API server's words about a slice of a channel that it doesn't take; empty if there is none.
	// It may be nil.
	RefusedSlices func(channel types.NamespacedName) string
	// Ledgers keeps claims; Board tells others which are in force.
	Ledgers *ledger.Store
	Board   *ledger.Board
	Events  record.EventRecorder
	Metrics Metrics
	// RebuildFrom returns from when on this process may rebuild a ledger that is lost: it must have led for as long as a process that led
	// before may believe that it still does. If it is nil, there is no such process.
	RebuildFrom func() time.Time
	// Now is the clock.
	Now func() time.Time

	// Quiet and Longest space passes in a burst: see calm.
	Quiet, Longest time.Duration
	// Budget bounds how often the channels of a namespace change their ports on a mux.
	Budget Budget
	// Parallel bounds how many channels are written side by side.
	Parallel int
	// Muxes bounds how many muxes of one namespace are looked after side by side.
	Muxes int
	// Print, if set, gets each plan in place of its being carried out.
	Print func(*plan.Plan)
}

// Slices looks slices up in a cache.
type Slices func(ctx context.Context, cache client.Reader, service types.NamespacedName) ([]*discoveryv1.EndpointSlice, error)

// CarriedSlices looks up in a cache what a mux has of a channel.
type CarriedSlices func(ctx context.Context, cache client.Reader, channel types.NamespacedName, mux *corev1.Service) ([]*discoveryv1.EndpointSlice, error)

// Metrics is told what was decided and done.
type Metrics interface {
	Decided(p *plan.Plan, took time.Duration)
	Applied(mux types.NamespacedName, took time.Duration)
	Wrote(kind string)
	Programmed(channel *plan.ObservedChannel)
	Repeated(mux types.NamespacedName)
	Forget(mux types.NamespacedName)
}

// Line looks after muxes.
type Line struct {
	Options
	services *fresh.Store[*corev1.Service]
	paces    *pace.Pace[types.NamespacedName]
	calm     *calm
	woken    waker
	turns    *fair.Turns

	mu       sync.Mutex
	memories map[types.NamespacedName]*memory
	// echoes are the resource versions of our own writes, by Service: the informer shows them, and they are no news.
	echoes map[types.NamespacedName]string
	// passes are the last ones over each mux, for those who look.
	passes map[types.NamespacedName]passed
}

// patience is how long the cache may be behind before it is believed again.
const patience = time.Minute

// New returns a line that looks after nothing yet.
func New(options Options) *Line {
	return &Line{
		Options:  options,
		services: fresh.Confirmed[*corev1.Service](patience, options.Now),
		paces:    pace.New[types.NamespacedName](),
		calm:     newCalm(options.Quiet, options.Longest),
		turns:    fair.NewTurns(),
		memories: map[types.NamespacedName]*memory{},
		echoes:   map[types.NamespacedName]string{},
		passes:   map[types.NamespacedName]passed{},
	}
}

// Reconcile is one pass over a mux: observe, decide, apply.
func (l *Line) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	mux := request.NamespacedName
	if !l.LooksAfter(mux) {
		return reconcile.Result{}, nil
	}
	if wait := l.calm.wait(mux, l.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if late, err := l.catchUp(ctx); late || err != nil {
		return reconcile.Result{RequeueAfter: leastPause}, err
	}
	memory := l.memory(mux)
	o, err := l.observe(ctx, mux, memory)
	if err != nil {
		return reconcile.Result{}, err
	}
	p, again, err := l.carryOut(ctx, o)
	if apierrors.IsConflict(err) || errors.Is(err, errBehind) {
		l.note(o, nil) // which is no failure that anybody should read of
		// Somebody was faster, or the cache is behind: what changed comes by itself, and this is for if it doesn't.
		logr.FromContextOrDiscard(ctx).V(1).Info("somebody was faster", "reason", err.Error())
		return reconcile.Result{RequeueAfter: behindPause}, nil
	}
	l.note(o, err)
	if err != nil {
		return reconcile.Result{}, err
	}
	l.tidy(ctx, o, p)
	if p.Freeze != nil {
		again = earlier(again, l.Now().Add(frozenPause))
	}
	if o.unread {
		again = earlier(again, l.Now().Add(unreadPause))
	}
	if o.entry.Unseen || p.Reserve != nil || p.Settle != nil {
		again = earlier(again, l.Now().Add(unseenPause))
	}
	if l.Print != nil && !p.Again.After(l.Now()) {
		p.Again = time.Time{} // nothing was done, so the same would be decided again, and again
	}
	return after(l.Now(), again, p.Again, memory.nextTry(), memory.nextUncarried(l.Now()), l.services.Due()), nil
}

// LooksAfter is false for muxes that are another reconciler's, and with them their channels: they aren't touched, but for
// a word to those that nobody says anything to (unserved.go). A
// class that names no mux concerns everybody.
func (l *Line) LooksAfter(mux types.NamespacedName) bool {
	return len(l.Namespaces) == 0 || mux == nowhere || slices.Contains(l.Namespaces, mux.Namespace)
}

// errBehind is a write that was refused because what it was decided from is no longer so.
var errBehind = errors.New("the cache is behind")

// behindPause is how long to wait for the cache to catch up.
const behindPause = 100 * time.Millisecond

// frozenPause is how often a frozen mux is looked at: what froze it may lie where no informer looks, such as in a
// ConfigMap that isn't ours.
const frozenPause = 10 * time.Second

// unreadPause is how soon a channel is looked for again that couldn't be read.
const unreadPause = time.Second

// unseenPause is how soon a ledger is looked for again that was written just now, or that the informer doesn't show yet. If
// it goes while its watch is broken, before the informer has ever seen it, nobody tells of that.
const unseenPause = 30 * time.Second

// leastPause keeps a pass that asks for another one at once from spinning.
const leastPause = time.Millisecond

// after turns points in time into the first of them.
func after(now time.Time, times ...time.Time) reconcile.Result {
	var first time.Time
	for _, at := range times {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(first.Sub(now), leastPause)}
}

func (l *Line) memory(mux types.NamespacedName) *memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.memories[mux]
	if m == nil {
		m = newMemory(l.Budget)
		l.memories[mux] = m
	}
	return m
}

// carryOut decides, and writes.
func (l *Line) carryOut(ctx context.Context, o *observed) (*plan.Plan, time.Time, error) {
	p, err := l.decide(ctx, o, plan.Mux)
	if err != nil {
		return nil, time.Time{}, err
	}
	p = l.takeTurn(o, p)
	if !o.trial(p) {
		l.Metrics.Decided(p, o.took)
	}
	again, err := l.apply(ctx, o, p)
	return p, again, err
}

// tidy takes from a pass what the next ones should know, and forgets what is gone.
func (l *Line) tidy(ctx context.Context, o *observed, p *plan.Plan) {
	m := o.memory
	there := make(map[types.NamespacedName]bool, len(o.world.Channels)+1)
	there[o.world.Key] = true
	for i := range o.world.Channels {
		there[o.world.Channels[i].Key] = true
	}
	m.keep(func(key types.NamespacedName) bool { return there[key] })
	if o.done && p.Freeze == nil {
		m.tried()
	}
	if o.done || p.Freeze != nil {
		l.logFrozen(ctx, o, p)
	}
	if o.world.Mux == nil && len(o.world.Channels) == 0 {
		l.mu.Lock()
		delete(l.memories, o.world.Key)
		delete(l.passes, o.world.Key)
		l.mu.Unlock()
		l.calm.forget(o.world.Key)
		l.paces.Forget(o.world.Key)
		l.Ledgers.Forget(o.world.Key)
		l.Metrics.Forget(o.world.Key)
	}
}
