package services

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/fair"
	"nowake.ai/svc-lb-mux/reconciler/fresh"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/validation"
)

// Options configure a Line.
type Options struct {
	Language validation.Language
	// Name distinguishes this reconciler from others in the cluster.
	Name string
	// Namespaces are the namespaces whose muxes are served; if empty, all are.
	Namespaces []string
	// Cache reads from informers. Live reads from the API server, and Writer writes there.
	Cache  client.Reader
	Live   client.Reader
	Writer client.Client
	// Sources returns the slices of a channel, OnMux our slices of a mux.
	Sources, OnMux Slices
	// Backing returns whether a channel has backends on a mux, and why a slice of it can't be written; empty if all can.
	// Backing may be nil.
	Backing func(channel types.NamespacedName, mux types.UID) (is plan.Backing, refused string)
	// Excess returns how a limit cuts a channel's endpoints on a mux; empty if none does. Excess may be nil.
	Excess func(channel types.NamespacedName, mux types.UID) string
	// Claimants are the claimants that are no Services; nil if there are none.
	Claimants Claimants
	// Ledgers stores claims. Board shows the claims in force to other packages.
	Ledgers *ledger.Store
	Board   *ledger.Board
	Events  record.EventRecorder
	Metrics Metrics
	// RebuildFrom returns the time from which this process may rebuild a lost ledger: by then, a predecessor has noticed
	// that it no longer leads. Nil means that there is no predecessor.
	RebuildFrom func() time.Time
	Now         func() time.Time

	// Quiet and Longest debounce passes: see debouncer.
	Quiet, Longest time.Duration
	// Budget bounds how often the channels of a namespace change their ports on a mux.
	Budget budget.Limit
	// Parallel bounds how many channels are written at a time.
	Parallel int
	// Muxes bounds how many muxes of one namespace are reconciled at a time.
	Muxes int
	// Print, if set, gets each plan, and nothing is written.
	Print func(*plan.Plan)
}

type Slices func(ctx context.Context, cache client.Reader, service types.NamespacedName) ([]*discoveryv1.EndpointSlice,
	error)

// Metrics counts decisions and writes.
type Metrics interface {
	Decided(p *plan.Plan, took time.Duration)
	Applied(mux types.NamespacedName, took time.Duration)
	Wrote(kind string)
	Programmed(channel *plan.ObservedChannel)
	Repeated(mux types.NamespacedName)
	Forget(mux types.NamespacedName)
}

// Line reconciles muxes.
type Line struct {
	Options
	services *fresh.Store[*corev1.Service]
	paces    *pace.Pace[types.NamespacedName]
	debounce *debouncer
	woken    atomic.Pointer[queue] // nil until the line runs
	turns    *fair.Turns

	mu       sync.Mutex
	memories map[types.NamespacedName]*memory
	// passes are the results of the last pass over each mux, for Look.
	passes map[types.NamespacedName]lastPass
}

// patience is how long the cache may be behind a write before the Service is read live.
const patience = time.Minute

func New(options Options) *Line {
	return &Line{
		Options:  options,
		services: fresh.Confirmed[*corev1.Service](patience, options.Now),
		paces:    pace.New[types.NamespacedName](),
		debounce: newDebouncer(options.Quiet, options.Longest),
		turns:    fair.NewTurns(),
		memories: map[types.NamespacedName]*memory{},
		passes:   map[types.NamespacedName]lastPass{},
	}
}

// Reconcile is one pass over a mux: observe, decide, apply.
func (l *Line) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	mux := request.NamespacedName
	if !l.LooksAfter(mux) {
		return reconcile.Result{}, nil
	}
	if wait := l.debounce.wait(mux, l.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if late, err := l.catchUp(ctx); late {
		return reconcile.Result{RequeueAfter: leastPause}, err
	}
	memory := l.memory(mux)
	o, err := l.observe(ctx, mux, memory)
	if err != nil {
		return reconcile.Result{}, err
	}
	p, again, err := o.carryOut(ctx)
	if apierrors.IsConflict(err) || errors.Is(err, errBehind) {
		o.rememberPass(nil) // a write conflict isn't worth reporting
		// The informer's event will cause the next pass; requeue in case it doesn't.
		logr.FromContextOrDiscard(ctx).V(1).Info("another writer was faster, or the cache is behind: the pass is repeated",
			"reason", err.Error())
		return reconcile.Result{RequeueAfter: behindPause}, nil
	}
	o.rememberPass(err)
	if err != nil {
		return reconcile.Result{}, err
	}
	o.updateMemory(ctx, p)
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
		p.Again = time.Time{} // nothing was written: the next pass would decide the same, without end
	}
	return requeueAt(l.Now(), again, p.Again, memory.blocked.until, memory.setbacks.nextTry(), l.services.Due()), nil
}

// LooksAfter is true for muxes that this reconciler serves. Other muxes and their channels aren't written, except as in
// unserved.go. The channels whose class names no mux belong to every reconciler.
func (l *Line) LooksAfter(mux types.NamespacedName) bool {
	return len(l.Namespaces) == 0 || mux == noMux || slices.Contains(l.Namespaces, mux.Namespace)
}

// errBehind means that a decision is outdated, because the cache was behind.
var errBehind = errors.New("the cache is behind")

const behindPause = 100 * time.Millisecond

// frozenPause is how often a frozen mux is reconciled: the cause of the freeze may be where no informer looks, such as
// in a ConfigMap that isn't ours.
const frozenPause = 10 * time.Second

// unreadPause is how soon a channel that couldn't be read is read again.
const unreadPause = time.Second

// unseenPause is how soon a pass reads the ledger again if the informer may not have shown the last write of the
// ledger. If the ledger is deleted while the watch is broken, no event comes.
const unseenPause = 30 * time.Second

// leastPause keeps a pass that asks for another one at once from spinning.
const leastPause = time.Millisecond

// requeueAt requeues at the first of the times. Zero times don't count.
func requeueAt(now time.Time, times ...time.Time) reconcile.Result {
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

func (o *pass) carryOut(ctx context.Context) (*plan.Plan, time.Time, error) {
	p, err := o.decide(ctx, plan.Mux)
	if err != nil {
		return nil, time.Time{}, err
	}
	p = o.takeTurn(p)
	if !o.memory.blocked.trial(p) {
		o.Metrics.Decided(p, o.took)
	}
	again, err := o.apply(ctx, p)
	return p, again, err
}

// updateMemory updates the memory after a pass, and forgets muxes and channels that are gone.
func (o *pass) updateMemory(ctx context.Context, p *plan.Plan) {
	m := o.memory
	there := make(map[types.NamespacedName]bool, len(o.world.Channels)+1)
	there[o.world.Key] = true
	for i := range o.world.Channels {
		there[o.world.Channels[i].Key] = true
	}
	m.keepOnly(func(key types.NamespacedName) bool { return there[key] })
	for key := range m.there {
		if !there[key] {
			o.paces.Forget(key)
		}
	}
	m.there = there
	if o.done && p.Freeze == nil {
		m.dropDue()
	}
	if o.done || p.Freeze != nil {
		o.logFrozen(ctx, p)
	}
	if o.world.Mux == nil && len(o.world.Channels) == 0 {
		o.mu.Lock()
		delete(o.memories, o.world.Key)
		delete(o.passes, o.world.Key)
		o.mu.Unlock()
		o.debounce.forget(o.world.Key)
		o.paces.Forget(o.world.Key)
		o.paces.Forget(paceOfLedger(o.world.Key))
		o.Ledgers.Forget(o.world.Key)
		o.Metrics.Forget(o.world.Key)
	}
}
