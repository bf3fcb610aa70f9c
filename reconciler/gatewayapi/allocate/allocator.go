package allocate

import (
	"cmp"
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/validation"
)

// Options configure an Allocator.
type Options struct {
	Language validation.Language
	// Name distinguishes this reconciler from others in the cluster.
	Name string
	// Namespaces are those whose Gateways are served; if empty, all.
	Namespaces []string
	Events     record.EventRecorder
	// Budget bounds how often the routes of a namespace change their numbers on a Gateway.
	Budget budget.Limit
	// RebuildFrom returns when this process may rebuild a lost ledger: see plan.World.
	RebuildFrom func() time.Time
	Now         func() time.Time
	Log         logr.Logger
	// WritesAtOnce is how many objects are written at a time; run.WritesAtOnce if it is 0.
	WritesAtOnce int
}

// Allocator gives numbers to routes. It is a run.Feature.
type Allocator struct{ Options }

// New returns an Allocator.
func New(options Options) *Allocator {
	options.WritesAtOnce = cmp.Or(options.WritesAtOnce, run.WritesAtOnce)
	return &Allocator{options}
}

// Name says what the Allocator does.
func (a *Allocator) Name() string { return "allocating numbers for routes" }

// Suffices is true if the API server serves Gateways and routes. Without ListenerSets, the Allocator only tells routes
// why they have no listener.
func (a *Allocator) Suffices(kinds run.Kinds) bool {
	return kinds.Has("Gateway") && (kinds.Has(read.TCPRoute) || kinds.Has(read.UDPRoute))
}

// Setup adds the controllers to a manager.
func (a *Allocator) Setup(ctx context.Context, m manager.Manager, kinds run.Kinds) error {
	return newLine(&a.Options, m, kinds).setup(ctx, m)
}
