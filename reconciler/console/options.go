package console

import (
	"context"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/certs/guard"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// Options are the inputs of a console.
type Options struct {
	Language validation.Language
	Line     Line
	// Cache is the reconciler's cache.
	Cache cache.Cache
	// Timeline has the recorded decisions and Events.
	Timeline *Timeline
	// Leading says whether this process leads.
	Leading func() bool
	// Admission returns the state of admission; nil if this process doesn't check it.
	Admission func() guard.Status
	Metrics   prometheus.Registerer
	Log       logr.Logger
	Now       func() time.Time

	// Name and Version are the process's.
	Name, Version string
	DryRun        bool
	// Token is the token for access. If it is empty and Review is nil, only requests to a loopback name or address are let
	// in.
	Token string
	// Review asks the API server about tokens. It replaces Token; nil if not used.
	Review Reviewer
	// Gateways reads the gateways with their counts; nil if the release has none.
	Gateways func(context.Context) ([]lease.Gateway, error)
	// Actions allows requests that do more than read.
	Actions bool
	// Dial opens the connections of POST /api/test-tcp.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Line is the part of the mux line that the console uses.
type Line interface {
	Look(ctx context.Context, mux types.NamespacedName) (*sight.Sight, error)
	News(ctx context.Context, informers cache.Cache, changed func(mux types.NamespacedName)) error
	Spoken(ctx context.Context) ([]types.NamespacedName, error)
	Service(ctx context.Context, key types.NamespacedName) (*corev1.Service, error)
	MuxOf(svc *corev1.Service) (types.NamespacedName, bool)
	LooksAfter(mux types.NamespacedName) bool
}
