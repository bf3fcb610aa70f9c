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

	"nowake.ai/svc-lb-mux/certs/guard"
	"nowake.ai/svc-lb-mux/reconciler/mux"
	"nowake.ai/svc-lb-mux/validation"
)

// Options are what a console is made from.
type Options struct {
	Language validation.Language
	Line     Line
	// Cache is the reconciler's.
	Cache cache.Cache
	// Timeline is what was recorded of decisions and Events.
	Timeline *Timeline
	// Leading says whether this process leads.
	Leading func() bool
	// Admission says whether bad muxes are refused; nil where nobody watches it.
	Admission func() guard.Status
	Metrics   prometheus.Registerer
	Log       logr.Logger
	Now       func() time.Time

	// Name and Version are the process's.
	Name, Version string
	DryRun        bool
	// Token is asked for; if empty, nobody is asked, and only those who come to a loopback address are let in.
	Token string
	// Review asks the API server about tokens, in place of Token; nil if nobody does.
	Review Reviewer
	// Actions allows what is more than to look.
	Actions bool
	// Dial reaches what is tried out.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Line is the part of the mux line that the console looks through.
type Line interface {
	Look(ctx context.Context, mux types.NamespacedName) (*mux.Sight, error)
	News(ctx context.Context, informers cache.Cache, changed func(mux types.NamespacedName)) error
	Spoken(ctx context.Context) ([]types.NamespacedName, error)
	Service(ctx context.Context, key types.NamespacedName) (*corev1.Service, error)
	MuxOf(svc *corev1.Service) (types.NamespacedName, bool)
	LooksAfter(mux types.NamespacedName) bool
}
