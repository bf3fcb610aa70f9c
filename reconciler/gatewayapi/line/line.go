package line

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/status"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/validation"
)

// Options configure the feature.
type Options struct {
	Language validation.Language
	// Name distinguishes this reconciler from others in the cluster.
	Name string
	// Namespaces are those whose Gateways are served; if empty, all.
	Namespaces []string
	Board      *Board
	Events     record.EventRecorder
	Now        func() time.Time
	Log        logr.Logger
	// WritesAtOnce is how many statuses are written at a time; run.WritesAtOnce if it is 0.
	WritesAtOnce int
	// WritesOfAPass is how many statuses a pass writes before the next one begins; writesOfAPass if it is 0.
	WritesOfAPass int
}

// Line serves Gateways. It is a run.Feature.
type Line struct{ Options }

// New returns the feature.
func New(options Options) *Line {
	options.WritesAtOnce = cmp.Or(options.WritesAtOnce, run.WritesAtOnce)
	options.WritesOfAPass = cmp.Or(options.WritesOfAPass, writesOfAPass)
	return &Line{options}
}

// Name says what the feature does.
func (*Line) Name() string { return "serving Gateways" }

// Suffices is true if there may be Gateways of ours with routes.
func (*Line) Suffices(kinds run.Kinds) bool {
	return kinds.Has("GatewayClass") && kinds.Has("Gateway") && (kinds.Has(read.TCPRoute) || kinds.Has(read.UDPRoute))
}

// serving is the feature while it runs.
type serving struct {
	*Options
	keys  validation.Keys
	kinds run.Kinds
	cache client.Reader
	live  client.Reader
	write client.Client

	mu        sync.Mutex
	templates map[string]template // by GatewayClass
	// passed are the Gateways whose listeners, if any, are on the board.
	passed map[types.NamespacedName]bool
	// paces slow down corrections of muxes, if another writer undoes them.
	paces *pace.Pace[types.NamespacedName]
}

// template is the template of a GatewayClass that was read last, or why it is refused.
type template struct {
	read.Template
	refused *read.Refusal
}

const (
	// writesOfAPass take about half a second. A pass decides in a few milliseconds, and a user can wait for half a second.
	writesOfAPass = 256
	// behindPause gives the cache time to show a write.
	behindPause = 100 * time.Millisecond
	// takenPause is how often a refused Gateway is tried again, for example if a foreign Service has the mux's name.
	takenPause = 10 * time.Second
)

// Reconcile is one pass over a Gateway.
func (l *serving) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	again, err := l.pass(ctx, request.NamespacedName)
	switch {
	case errors.Is(err, errUnknown):
		return reconcile.Result{RequeueAfter: again}, nil // listeners keep their numbers and backends
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		return reconcile.Result{RequeueAfter: behindPause}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// setPassed notes that the board has a Gateway's listeners, or that there are none. A write that fails later in the
// pass doesn't matter for that.
func (l *serving) setPassed(gateway types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passed[gateway] = true
}

// pass makes one pass. It returns errUnknown if the Gateway's GatewayClass wasn't read yet, or if the GatewayClass is
// missing and the Gateway has a mux of ours.
func (l *serving) pass(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	o, whose, err := l.observe(ctx, l.cache, key)
	switch {
	case err != nil:
		return 0, err
	case whose == gone:
		l.Board.drop(read.MuxOf(key), key)
		l.paces.Forget(read.MuxOf(key))
		l.setPassed(key)
		return 0, nil
	case whose == foreign:
		return 0, l.leave(ctx, key)
	case whose == unclear:
		mux, err := l.muxOf(ctx, key)
		switch {
		case mux != nil:
			err = errUnknown
		case err == nil:
			l.setPassed(key)
		}
		return 0, err
	case whose == elsewhere:
		return l.reportUnserved(ctx, key)
	}
	template := l.templateOf(string(o.Gateway.Spec.GatewayClassName))
	if template == nil {
		return behindPause, errUnknown // its GatewayClass is read first
	}
	served := read.Judge(o)
	given := status.Given{Served: served, Now: l.Now()}
	made, err := l.ensureMux(ctx, o, template)
	if err != nil {
		return 0, err
	}
	mux, again := made.mux, made.again
	if mux != nil { // also if the Gateway is refused: it keeps its mux
		given.Address = mux.Status.LoadBalancer.Ingress
		l.Board.post(o.Mux, key, served.Claimants(), served.Backends)
	}
	l.setPassed(key)
	if given.Refused = made.refused; made.refused != nil {
		again = takenPause
	}
	given.Numbers = l.Board.numbers(o.Mux, &l.keys)
	if mux != nil && mux.Spec.Type != corev1.ServiceTypeLoadBalancer { // such a Service is no mux: nothing is decided
		for key := range given.Numbers {
			given.Numbers[key] = status.Number{Pending: fmt.Sprintf(
				"Service %s isn't of type LoadBalancer: set spec.type, or delete the Service", o.Mux)}
		}
	}
	l.Board.setShown(o.Mux, key, given.Shown(read.ControllerName(&l.keys)))
	more, err := l.publish(ctx, &given)
	return cmp.Or(more, again), err
}

// serves is true for Gateways that this process looks after.
func (o *Options) serves(gateway types.NamespacedName) bool {
	return len(o.Namespaces) == 0 || slices.Contains(o.Namespaces, gateway.Namespace)
}

// Setup adds the controllers to a manager.
func (l *Line) Setup(ctx context.Context, m manager.Manager, kinds run.Kinds) error {
	s := &serving{Options: &l.Options, keys: l.Language.Keys(), kinds: kinds, cache: m.GetCache(), live: m.GetAPIReader(),
		write:     m.GetClient(),
		templates: map[string]template{}, passed: map[types.NamespacedName]bool{}, paces: pace.New[types.NamespacedName]()}
	return s.setup(ctx, m)
}
