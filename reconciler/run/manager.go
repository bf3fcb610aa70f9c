package run

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"nowake.ai/svc-lb-mux/validation"
)

// stopTimeout limits the wait for running work after the process is told to end. managerStopTimeout adds a little for
// the manager itself. Kubernetes kills the pod after 30 s.
const (
	stopTimeout        = 10 * time.Second
	managerStopTimeout = stopTimeout + 2*time.Second
)

// processManager is a manager that can be abandoned while it fills its caches.
type processManager struct {
	manager.Manager

	language validation.Language
	set      kubernetes.Interface

	synced     chan struct{} // closed once the caches are filled
	base       context.Context
	cancelBase context.CancelFunc
}

// manager makes the process's manager. If elects is true, the manager itself takes part in leader election.
func (p Process) manager(logger logr.Logger, elects bool) (*processManager, error) {
	o := &p.Options
	language, err := o.language()
	if err != nil {
		return nil, err
	}
	unnamed := true
	base, abandon := context.WithCancel(context.Background())
	m, err := manager.New(p.Config, manager.Options{
		Scheme: newScheme(), MapperProvider: newMapper, Logger: logger, Cache: cacheOptions(o, language),
		BaseContext:            func() context.Context { return base },
		Metrics:                metricsserver.Options{BindAddress: "0"}, // served with the probes
		HealthProbeBindAddress: "0",
		LeaderElection:         elects && p.elects(), LeaderElectionID: o.LeaseName, LeaderElectionNamespace: o.Namespace,
		LeaderElectionReleaseOnCancel: true, GracefulShutdownTimeout: ptr.To(stopTimeout),
		LeaseDuration: &o.LeaseDuration, RenewDeadline: &o.RenewDeadline, RetryPeriod: &o.RetryPeriod,
		Controller: config.Controller{SkipNameValidation: &unnamed}, // tests run several in one process
	})
	if err != nil {
		abandon()
		return nil, err
	}
	set, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		abandon()
		return nil, err
	}
	b := &processManager{Manager: m, language: language, set: set, synced: make(chan struct{}), base: base,
		cancelBase: abandon}
	return b, m.Add(everyReplica(func(context.Context) error {
		close(b.synced)
		return nil
	}))
}

// elects says that the process needs a lease to work.
func (p Process) elects() bool { return p.Options.LeaderElection && !p.dry() }

// run works until the context ends. A manager that is stopped while its caches are being filled, for example while no
// API server answers, never returns and keeps a processor busy. So run doesn't stop it then, but abandons it: nothing
// has started yet.
func (b *processManager) run(ctx context.Context) error {
	if ctx.Err() != nil {
		b.cancelBase()
		return nil
	}
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	ended, returned := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(returned)
		ended <- b.Manager.Start(work)
	}()
	select {
	case err := <-ended:
		end()
		b.cancelBase()
		return err
	case <-ctx.Done():
	}
	select {
	case <-b.synced:
		end()
	default:
		b.cancelBase()
		go func() {
			select {
			case <-b.synced: // the caches are filled at this moment
			case <-returned:
			}
			end()
		}()
		return nil
	}
	defer b.cancelBase()
	select {
	case err := <-ended:
		return err
	case <-time.After(managerStopTimeout):
		return nil
	}
}
