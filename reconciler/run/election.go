package run

import (
	"context"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/uuid"
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

// elect makes the manager run elections, and returns the predecessors that keep this process from leading. Without
// leader election, the process works at once.
func (p Process) elect(m *processManager, terms *terms, recorder resourcelock.EventRecorder,
	log logr.Logger) (*predecessors, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	log = log.WithName("election")
	earlier := &predecessors{client: m.set, namespace: p.Options.Namespace, log: log}
	run := terms.work
	if p.elects() {
		earlier.selector = p.Options.Predecessors
		e := &election{options: &p.Options, config: p.Config, recorder: recorder, predecessors: earlier, log: log,
			identity: host + "_" + string(uuid.NewUUID()), // freeDeadLease reads the pod's name from it
			work:     terms.work}
		run = e.run
	}
	return earlier, m.Add(everyReplica(run))
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
	// made before the wait, so that its metric shows that this process doesn't lead
	elector, err := e.elector(lock, elected)
	if err != nil || !e.predecessors.awaitNone(ctx) {
		return err
	}
	standbyCtx, stopStandby := context.WithCancel(ctx)
	defer stopStandby()
	e.predecessors.whileNone(standbyCtx, stopStandby)
	// The lease is renewed until the work has stopped, even if the process is told to end.
	leaseCtx, dropLease := context.WithCancel(context.WithoutCancel(ctx))
	defer dropLease()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(leaseCtx)
	}()
	select {
	case <-standbyCtx.Done():
	case held := <-elected:
		err = e.workWhile(held, standbyCtx)
	}
	dropLease()
	<-ended
	if elector.IsLeader() {
		e.release(ctx, lock)
	}
	return err
}

// workWhile works until the lease is lost, a predecessor runs, or the process is told to end.
func (e *election) workWhile(leaseCtx, standbyCtx context.Context) error {
	if pod, err := e.predecessors.look(standbyCtx); pod != "" || err != nil {
		return nil // run waits until no predecessor is left
	}
	ctx, end := context.WithCancel(leaseCtx)
	defer end()
	defer context.AfterFunc(standbyCtx, end)()
	e.log.Info("leads", "identity", e.identity)
	err := e.work(ctx)
	if standbyCtx.Err() == nil && err == nil {
		e.log.Info("the lease is lost: this process stands by", "lease", e.options.name())
	}
	return err
}

// elector sends a context to elected that ends when the lease is lost.
func (e *election) elector(lock resourcelock.Interface, elected chan<- context.Context) (*leaderelection.LeaderElector,
	error) {
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: e.options.LeaseName,
		LeaseDuration: e.options.LeaseDuration, RenewDeadline: e.options.RenewDeadline, RetryPeriod: e.options.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) { elected <- held }, OnStoppedLeading: func() {},
		},
	})
}

// lock makes a new lock for each term, since a lock caches the version of the lease that it saw last.
func (e *election) lock() (resourcelock.Interface, error) {
	return resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, e.options.Namespace, e.options.LeaseName,
		resourcelock.ResourceLockConfig{Identity: e.identity, EventRecorder: e.recorder}, e.config, e.options.RenewDeadline)
}

// releaseTimeout limits the release of the lease. An unreleased lease expires.
const releaseTimeout = 2 * time.Second

// release releases the lease, so that another process leads at once. A failure is only logged, since the lease expires.
func (e *election) release(ctx context.Context, lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err == nil && record.HolderIdentity == e.identity {
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1
		err = lock.Update(ctx, *record)
	}
	if err != nil {
		e.log.Info("the lease can't be released; it expires", "lease", e.options.name(), "reason", err.Error())
	}
}
