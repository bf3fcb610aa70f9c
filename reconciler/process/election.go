package process

import (
	"context"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// election decides when this process works. It works while it holds the lease and no predecessor runs.
//
//	wait until no predecessor runs ─▶ stand by ─▶ get the lease ─▶ work ─▶ stop the work ─▶ release the lease
//	              ▲                                                                               │
//	              └───────────── lease lost, or a predecessor started: stand by again ◀───────────┘
//
// The work has stopped before the lease is released, so two processes of one release don't work at the same time.
// client-go's ReleaseOnCancel would release a lost lease while the work still goes on.
type election struct {
	options      *Options
	config       *rest.Config
	recorder     resourcelock.EventRecorder
	predecessors *predecessors
	log          logr.Logger
	identity     string
	// work returns when its context has ended and the work has stopped. An error ends the process.
	work func(ctx context.Context) error
}

// elect has the manager run elections, and returns what keeps this process from leading. A process that works without a lease
// works at once.
func (p Process) elect(m *boss, terms *terms, recorder resourcelock.EventRecorder, log logr.Logger) (*predecessors, error) {
	client, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		return nil, err
	}
	identity, err := newIdentity()
	if err != nil {
		return nil, err
	}
	log = log.WithName("election")
	earlier := &predecessors{client: client, namespace: p.Options.Namespace, log: log}
	run := terms.work
	if p.elects() {
		earlier.selector = p.Options.Predecessors
		e := &election{options: &p.Options, config: p.Config, recorder: recorder, predecessors: earlier, log: log,
			identity: identity, work: terms.work}
		run = e.run
	}
	return earlier, m.Add(everywhere(run))
}

// newIdentity names this process in the lease. inherit reads the pod's name from it.
func newIdentity() (string, error) {
	host, err := os.Hostname()
	return host + "_" + string(uuid.NewUUID()), err
}

// run takes part in elections until the context ends.
func (e *election) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := e.term(logr.NewContext(ctx, e.log)); err != nil {
			return err
		}
	}
	return nil
}

// term waits for predecessors, stands by for the lease, works while it holds the lease, and releases it.
func (e *election) term(ctx context.Context) error {
	lock, err := e.lock()
	if err != nil {
		return err
	}
	elected := make(chan context.Context, 1)
	elector, err := e.elector(lock, elected) // made before the wait: its metric says that this process doesn't lead
	if err != nil || !e.predecessors.awaitNone(ctx) {
		return err
	}
	stand, leave := context.WithCancel(ctx)
	defer leave()
	e.predecessors.whileNone(stand, leave)
	// The lease is renewed for as long as the work takes to stop, also when the process is told to end.
	hold, drop := context.WithCancel(context.WithoutCancel(ctx))
	defer drop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(hold)
	}()
	select {
	case <-stand.Done():
	case held := <-elected:
		err = e.workWhile(held, stand)
	}
	drop()
	<-ended
	if elector.IsLeader() {
		e.release(ctx, lock)
	}
	return err
}

// workWhile works until the lease is lost or the process stops standing for it.
func (e *election) workWhile(held, stand context.Context) error {
	if pod, err := e.predecessors.look(stand); pod != "" || err != nil {
		return nil // run waits until none is there
	}
	ctx, end := context.WithCancel(held)
	defer end()
	defer context.AfterFunc(stand, end)()
	e.log.Info("leads", "identity", e.identity)
	err := e.work(ctx)
	if stand.Err() == nil && err == nil {
		e.log.Info("the lease is lost: this process stands by", "lease", e.options.name())
	}
	return err
}

// elector sends a context to elected that ends when the lease is lost.
func (e *election) elector(lock resourcelock.Interface, elected chan<- context.Context) (*leaderelection.LeaderElector, error) {
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: e.options.LeaseName,
		LeaseDuration: e.options.LeaseDuration, RenewDeadline: e.options.RenewDeadline, RetryPeriod: e.options.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) { elected <- held }, OnStoppedLeading: func() {},
		},
	})
}

// lock is new for each term: it remembers the version of the lease that it saw last.
func (e *election) lock() (resourcelock.Interface, error) {
	return resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, e.options.Namespace, e.options.LeaseName,
		resourcelock.ResourceLockConfig{Identity: e.identity, EventRecorder: e.recorder}, e.config, e.options.RenewDeadline)
}

// releasePatience is how long the process tries to release its lease. Otherwise the lease runs out.
const releasePatience = 2 * time.Second

// release gives the lease back, so that another process leads at once. A failure is only logged: the lease runs out.
func (e *election) release(ctx context.Context, lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err == nil && record.HolderIdentity == e.identity {
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1
		err = lock.Update(ctx, *record)
	}
	if err != nil {
		e.log.Info("the lease isn't released, and runs out", "lease", e.options.name(), "reason", err.Error())
	}
}
