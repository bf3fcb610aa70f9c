package allocate

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/validation"
)

// line reconciles Gateways.
type line struct {
	*Options
	keys  validation.Keys
	kinds run.Kinds
	cache client.Reader
	live  client.Reader
	write client.Client
	store *ledger.Store

	mu       sync.Mutex
	memories map[types.NamespacedName]*memory
}

func newLine(o *Options, m manager.Manager, with run.Kinds) *line {
	keys := o.Language.Keys()
	return &line{
		Options: o, keys: keys, kinds: with, cache: m.GetCache(), live: m.GetAPIReader(), write: m.GetClient(),
		store:    ledger.NewStore(keys, m.GetCache(), m.GetAPIReader(), m.GetClient()),
		memories: map[types.NamespacedName]*memory{},
	}
}

// memory is what the process remembers of a Gateway between passes. A pass works without it.
type memory struct {
	// lastGood is the ledger that was last in force.
	lastGood *plan.Ledger
	// refused are routes whose ListenerSet the API server refused.
	refused map[types.NamespacedName]refusedSet
	// blocked is set while the API server refuses the ledger. Words are the API server's.
	blocked setback
	words   string
	// spending counts how often the routes of each namespace changed their numbers.
	spending budget.Spending
	// paces slow down corrections of the ListenerSets of routes, if another writer undoes them.
	paces *pace.Pace[types.NamespacedName]
	// standing are the Events that were sent about lasting problems.
	standing map[string]bool
	frozen   string
	// met is true once the Gateway was read live.
	met bool
}

// refusedSet is the API server's refusal of a route's ListenerSet, and when the write is tried again.
type refusedSet struct {
	plan.PatchRefusal
	setback
}

// setback says when a write that failed is tried again. The pause grows each time.
type setback struct {
	until time.Time
	pause time.Duration
}

const (
	firstPause   = 2 * time.Second
	longestPause = 5 * time.Minute
)

func (s setback) next(now time.Time, longest time.Duration) setback {
	pause := min(max(2*s.pause, firstPause), longest)
	return setback{now.Add(pause), pause}
}

// Reconcile is one pass over a Gateway.
func (l *line) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if !l.serves(request.NamespacedName) {
		return l.reportUnserved(ctx, request.NamespacedName)
	}
	if !l.kinds.Has("ListenerSet") {
		return l.reportNoSets(ctx, request.NamespacedName)
	}
	o, err := l.observe(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	p, err := o.decide(ctx)
	if err == nil {
		err = o.apply(ctx, p)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{RequeueAfter: behindPause}, nil // another writer was faster, or the cache is behind
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	o.remember(p)
	return o.requeue(p), nil
}

const (
	// behindPause gives the cache time to show a write.
	behindPause = 100 * time.Millisecond
	// frozenPause is how often a frozen Gateway is reconciled: no watch may show that the cause is gone.
	frozenPause = 10 * time.Second
)

// requeue returns when the next pass is due if no change comes before.
func (o *pass) requeue(p *plan.Plan) reconcile.Result {
	next := p.Again
	sooner := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	now := o.Now()
	for _, no := range o.memory.refused {
		sooner(no.until)
	}
	if p.Freeze != nil {
		sooner(now.Add(frozenPause))
		sooner(o.memory.blocked.until)
	}
	if o.again {
		sooner(now)
	}
	sooner(o.due)
	if next.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(next.Sub(now), time.Millisecond)}
}

// remember notes what the pass found out, and forgets Gateways and routes that are gone.
func (o *pass) remember(p *plan.Plan) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gateway == nil && len(o.routes) == 0 {
		delete(o.memories, o.key)
		o.store.Forget(o.world.Key)
		return
	}
	for key := range o.memory.refused {
		if o.routes[key] == nil {
			delete(o.memory.refused, key)
		}
	}
	o.memory.paces.Keep(func(route types.NamespacedName) bool { return o.routes[route] != nil })
	if good := &o.world.Ledger; p.Freeze == nil && good.Condition == plan.Good {
		kept := good.Ledger.Clone()
		o.memory.lastGood = &kept
	}
	if p.Freeze == nil && !o.memory.blocked.until.IsZero() {
		return // the ledger was refused, and the next pass is frozen
	}
	o.setFrozen(p)
}

// setFrozen notes whether the Gateway is frozen, and logs a change.
func (o *pass) setFrozen(p *plan.Plan) {
	now, before := "", o.memory.frozen
	if p.Freeze != nil {
		now = p.Freeze.Message
	}
	o.memory.frozen = now
	switch {
	case before == now:
	case now == "":
		o.Log.Info("the Gateway isn't frozen any more", "gateway", o.key, "was", before)
	default:
		o.Log.Info("the Gateway is frozen", "gateway", o.key, "reason", p.Freeze.Reason, "why", now)
	}
}

func (l *line) memory(gateway types.NamespacedName) *memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.memories[gateway] == nil {
		l.memories[gateway] = &memory{
			refused: map[types.NamespacedName]refusedSet{}, standing: map[string]bool{}, spending: budget.New(l.Budget),
			paces: pace.New[types.NamespacedName](),
		}
	}
	return l.memories[gateway]
}

// frozenIn returns the frozen Gateways of a namespace.
func (l *line) frozenIn(namespace string) (frozen []types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for gateway, m := range l.memories {
		if gateway.Namespace == namespace && m.frozen != "" {
			frozen = append(frozen, gateway)
		}
	}
	return frozen
}

// serves is true for Gateways that this process looks after, and for routes whose annotation names no Gateway.
func (l *line) serves(gateway types.NamespacedName) bool {
	return len(l.Namespaces) == 0 || gateway.Name == "" || slices.Contains(l.Namespaces, gateway.Namespace)
}

// muxOfLedger returns the Gateway that a ledger names.
func muxOfLedger(cm *metav1.PartialObjectMetadata, key string) (types.NamespacedName, bool) {
	namespace, name, _ := strings.Cut(cm.Annotations[key], "/")
	gateway, is := read.GatewayOf(types.NamespacedName{Namespace: namespace, Name: name})
	return gateway, is && namespace == cm.Namespace
}

// tell sends an Event about the Gateway or a route.
func (o *pass) tell(event plan.Event) {
	if about := o.about(event.Object); about != nil {
		o.Events.Event(about, event.Type(), string(event.Reason), event.Note())
	}
}
