package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nowake.ai/svc-lb-mux/reconciler/backends"
	"nowake.ai/svc-lb-mux/reconciler/drain"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/services"
	"nowake.ai/svc-lb-mux/reconciler/try"
)

// tryChannel creates a channel and waits for the running reconciler, as a user does. It needs neither cache nor lease.
func (p Process) tryChannel(ctx context.Context) error {
	language, err := p.Options.language()
	if err != nil {
		return err
	}
	mapper, err := newMapper(p.Config, nil)
	if err != nil {
		return err
	}
	user, err := client.New(p.Config, client.Options{Scheme: newScheme(), Mapper: mapper})
	if err != nil {
		return err
	}
	tried, _ := p.Options.tryMux()
	return try.Run(ctx, try.Options{
		Language: language, Client: user, Mux: tried, Namespace: p.Options.Namespace,
		Patience: p.Options.Patience, Report: p.Logs,
	})
}

// drain removes our ports, slices and addresses, as the leader.
func (p Process) drain(ctx context.Context, logger logr.Logger) error {
	m, err := p.manager(logger, true)
	if err != nil {
		return err
	}
	language := m.language
	var print printer
	if p.dry() {
		print = newPrinter(p.Logs, 0)
	}
	line := services.New(services.Options{
		Language: language, Name: p.Options.name(), Namespaces: p.Options.muxNamespaces(),
		Cache: m.GetCache(), Live: m.GetAPIReader(), Writer: m.GetClient(),
		Sources: backends.Sources, OnMux: backends.OnMux,
		Ledgers: ledger.NewStore(language.Keys(), m.GetCache(), m.GetAPIReader(), m.GetClient()),
		Board:   ledger.NewBoard(nil), Events: silentRecorder{}, Metrics: newMetrics(prometheus.NewRegistry(), p.Now),
		Now:      p.Now,
		Parallel: p.Options.Writes, Print: print.plan,
	})
	if err := errors.Join(line.Index(ctx, m), backends.Index(ctx, m.GetFieldIndexer(), language)); err != nil {
		return err
	}
	return p.asLeader(ctx, m, func(ctx context.Context) error {
		return drain.Run(ctx, drain.Options{
			Line: line, Patience: p.Options.Patience, Pause: drainPause, Report: p.Logs, Dry: p.dry(),
			Carried: backends.Drained{Keys: language.Keys(), Cache: m.GetCache(), Live: m.GetAPIReader(), Writer: m.GetClient()},
		})
	})
}

// drainPause is longer than the usual delay of a cache.
const drainPause = time.Second

// asLeader runs the work once this process holds the lease, and then releases the lease.
func (p Process) asLeader(ctx context.Context, m *processManager, work func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	did := make(chan error, 1)
	err := m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		did <- work(ctx)
		end(nil)
		return nil
	}))
	if err != nil {
		return err
	}
	go p.awaitLease(ctx, m, end)
	if !p.dry() {
		go p.freeDeadLease(ctx, m)
	}
	err = m.run(ctx)
	select {
	case done := <-did:
		return errors.Join(done, err)
	default:
	}
	if cause := context.Cause(ctx); cause != nil {
		err = errors.Join(err, cause)
	}
	return err
}

// awaitLease ends the wait for the lease after Patience. Before that, it reports the holder of the lease once.
func (p Process) awaitLease(ctx context.Context, m *processManager, end context.CancelCauseFunc) {
	hint, enough := time.After(min(leaseHint, p.Options.Patience/2)), time.After(p.Options.Patience)
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.Elected():
			return
		case <-hint:
			fmt.Fprintf(p.Logs, "waiting for %s\n", p.leaseHolder(ctx, m.set))
		case <-enough:
			end(fmt.Errorf("given up after %s of waiting for %s: "+
				"end it first, such as with kubectl scale --replicas=0, and drain again",
				p.Options.Patience, p.leaseHolder(ctx, m.set)))
			return
		}
	}
}

// leaseHint is the time until the lease's holder is reported.
const leaseHint = 3 * time.Second

// leaseHolder describes the lease and its holder.
func (p Process) leaseHolder(ctx context.Context, set kubernetes.Interface) string {
	lease := fmt.Sprintf("the lease %s/%s", p.Options.Namespace, p.Options.LeaseName)
	got, err := set.CoordinationV1().Leases(p.Options.Namespace).Get(ctx, p.Options.LeaseName, metav1.GetOptions{})
	switch {
	case err != nil:
		return fmt.Sprintf("%s, which can't be read (%v)", lease, err)
	case got.Spec.HolderIdentity == nil || *got.Spec.HolderIdentity == "":
		return lease + ", which has no holder"
	}
	return fmt.Sprintf("%s, which %s holds", lease, *got.Spec.HolderIdentity)
}
