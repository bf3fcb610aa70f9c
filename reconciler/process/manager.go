package process

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// stopPatience is how long to wait for what is under way once the process is told to end, and a little more for the
// manager itself. Kubernetes kills after 30 s.
const (
	stopPatience  = 10 * time.Second
	startPatience = stopPatience + 2*time.Second
)

// boss is a manager that may be left alone while it fills its caches.
type boss struct {
	manager.Manager

	filled  chan struct{} // closed when its caches are
	base    context.Context
	abandon context.CancelFunc
}

// manager makes the manager of the process. If elects is true, it works once it holds the lease.
func (p Process) manager(logger logr.Logger, elects bool) (*boss, error) {
	o := &p.Options
	kept, err := cacheOptions(o)
	if err != nil {
		return nil, err
	}
	unnamed := true
	base, abandon := context.WithCancel(context.Background())
	m, err := manager.New(p.Config, manager.Options{
		Scheme: newScheme(), MapperProvider: newMapper, Logger: logger, Cache: kept,
		BaseContext:            func() context.Context { return base },
		Metrics:                metricsserver.Options{BindAddress: "0"}, // served with the probes
		HealthProbeBindAddress: "0",
		LeaderElection:         elects && p.elects(), LeaderElectionID: o.LeaseName, LeaderElectionNamespace: o.Namespace,
		LeaderElectionReleaseOnCancel: true, GracefulShutdownTimeout: ptr.To(stopPatience),
		LeaseDuration: &o.LeaseDuration, RenewDeadline: &o.RenewDeadline, RetryPeriod: &o.RetryPeriod,
		Controller: config.Controller{SkipNameValidation: &unnamed}, // tests run several in one process
	})
	if err != nil {
		abandon()
		return nil, err
	}
	b := &boss{Manager: m, filled: make(chan struct{}), base: base, abandon: abandon}
	return b, m.Add(afterCaches{b.filled})
}

// elects is false for a process that works without a lease.
func (p Process) elects() bool { return p.Options.LeaderElection && !p.dry() }

// afterCaches is what a manager runs once its caches are filled, whether or not it leads.
type afterCaches struct{ filled chan struct{} }

func (afterCaches) NeedLeaderElection() bool { return false }

func (a afterCaches) Start(context.Context) error {
	close(a.filled)
	return nil
}

// run works until the context ends. A manager that is told to end while its caches are being filled, as when no API server
// answers, never returns, and keeps a processor busy all the while: so it isn't told. Nothing was begun then, and nobody
// waits for it.
func (b *boss) run(ctx context.Context) error {
	if ctx.Err() != nil {
		b.abandon()
		return nil
	}
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- b.Manager.Start(work) }()
	select {
	case err := <-ended:
		end()
		b.abandon()
		return err
	case <-ctx.Done():
	}
	select {
	case <-b.filled:
		end()
	default:
		b.abandon()
		go func() {
			<-b.filled // should it be just now
			end()
		}()
		return nil
	}
	defer b.abandon()
	select {
	case err := <-ended:
		return err
	case <-time.After(startPatience):
		return nil
	}
}
