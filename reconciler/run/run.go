package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nowake.ai/svc-lb-mux/certs/selfmanaged"
	"nowake.ai/svc-lb-mux/reconciler/backends"
	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/console"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/services"
	"nowake.ai/svc-lb-mux/validation"
)

// Run works until the context ends, then releases the lease, and returns nil. It returns an error if the work fails.
// Its log goes to logs.
func Run(ctx context.Context, options Options, version string, logs io.Writer) error {
	if err := options.Check(); err != nil {
		return err
	}
	kube, err := restConfig(options.Kubeconfig, version)
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	return Process{Options: options, Config: kube, Version: version, Logs: logs, Now: time.Now, alone: true}.Run(ctx)
}

// gcPercent is the garbage collector's target: garbage in percent of the memory in use. The cache is nearly all of that
// memory. It grows with the cluster, and hardly changes. With the default of 100, the memory would grow to twice the
// cache's size for little use.
const gcPercent = 50

// Process is one reconciler. Tests make their own with another clock or client configuration.
type Process struct {
	Options Options
	Config  *rest.Config
	Version string
	Logs    io.Writer
	Now     func() time.Time
	// Dial opens connections to the webhook's Service, and those that the console tests; if nil, the usual dialer does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// SelfManaged is the policy of self-managed certificates; if zero, it comes from Options.
	SelfManaged selfmanaged.Policy

	// alone says that this is the only Process in the program, so client-go's global logger is set to its log.
	alone bool
}

// Run works until the context ends.
func (p Process) Run(ctx context.Context) error {
	level, err := p.Options.level()
	if err != nil {
		return err
	}
	logger := newLog(level, p.Logs)
	log.SetLogger(logger) // also for controller-runtime's own lines
	if p.alone {
		klog.SetLogger(logger)
	}
	ctx = logr.NewContext(ctx, logger)
	switch {
	case p.Options.TryChannel != "":
		return p.tryChannel(ctx)
	case p.Options.Drain:
		return p.drain(ctx, logger)
	}

	m, err := p.manager(logger, false)
	if err != nil {
		return err
	}
	out := p.outputs(m.set)
	defer out.close()
	registry, timeline := newRegistry(p.Version), console.NewTimeline(p.Now)
	lease := out.events
	out.events = timeline.Events(out.events)
	keeper, err := p.certificateKeeper(logger)
	if err != nil {
		return err
	}
	terms, err := p.newTerms(ctx, m, timeline, out, keeper, logger)
	if err != nil {
		return err
	}
	watching, err := p.addGuard(m, registry, terms.leads.Load, keeper, out.events)
	if err != nil {
		return err
	}
	earlier, err := p.elect(m, terms, lease, logger)
	if err != nil {
		return err
	}
	probes, err := net.Listen("tcp", p.Options.ProbeAddress)
	if err != nil {
		return fmt.Errorf("--probe-address %q: %w", p.Options.ProbeAddress, err)
	}
	if err := m.Add(probeServer(probes,
		routes(m, terms, readinessChecks(watching, earlier, keeper != nil), registry))); err != nil {
		return err
	}
	if err := p.addConsole(m, terms, timeline, watching, registry, logger); err != nil {
		return err
	}
	logger.Info("starting", "version", p.Version, "probeAddress", probes.Addr().String(), "apiPrefix", p.Options.APIPrefix,
		"namespace", p.Options.Namespace, "dryRun", p.Options.DryRun)
	if err := m.run(ctx); err != nil {
		return fmt.Errorf("reconciler: %w", err)
	}
	p.cleanUpWithNamespace(ctx, m.set, logger)
	logger.Info("ended in order")
	return nil
}

func (p Process) dry() bool { return p.Options.DryRun.Yes() }

// newTerms indexes the process's caches, and builds the first term on them.
func (p Process) newTerms(ctx context.Context, m *processManager, timeline *console.Timeline, out outputs,
	keeper *selfmanaged.Keeper,
	logger logr.Logger) (*terms, error) {
	var wait time.Duration
	if p.elects() {
		wait = p.Options.LeaseDuration
	}
	news := &listenerNews{}
	terms, err := newTerms(p.Now, wait, news, func() (*term, error) {
		run, kept, err := p.termManager(m, logger)
		if err != nil {
			return nil, err
		}
		t := &term{manager: run, cache: kept, registry: prometheus.NewRegistry(), news: news}
		if keeper != nil {
			if err := run.Add(keeper); err != nil {
				return nil, err
			}
		}
		t.line, err = p.setup(ctx, run, m.language, t, timeline, out)
		return t, err
	})
	if err != nil {
		return nil, err
	}
	return terms, errors.Join(terms.line().Index(ctx, m), backends.Index(ctx, m.GetFieldIndexer(), m.language),
		p.fillCache(ctx, m))
}

// fillCache starts the informers that no index starts, so that a standby's cache is as full as a leader's.
func (p Process) fillCache(ctx context.Context, m *processManager) error {
	_, err := m.GetCache().GetInformer(ctx, ledger.Object(), cache.BlockUntilSynced(false))
	return err
}

// setup builds the lines of a term.
func (p Process) setup(ctx context.Context, m manager.Manager, language validation.Language, t *term,
	timeline *console.Timeline,
	out outputs) (*services.Line, error) {
	metrics := newMetrics(t.registry, p.Now)
	carried := backends.NewMetrics()
	t.registry.MustRegister(carried)

	waker, reports := &backends.Waker{}, &backends.Reports{}
	gateways := p.newGateways(language.Keys(), waker, t.news)
	board := ledger.NewBoard(waker.Wake)
	line := services.New(services.Options{
		Language: language, Name: p.Options.name(), Namespaces: p.Options.muxNamespaces(),
		Cache: m.GetCache(), Live: m.GetAPIReader(), Writer: m.GetClient(),
		Sources: backends.SourcesOf(gateways.ofBackends()), Claimants: gateways.ofMuxes(), OnMux: backends.OnMux,
		Backing: reports.Of, Excess: reports.Excess,
		Ledgers: ledger.NewStore(language.Keys(), m.GetCache(), m.GetAPIReader(), m.GetClient()),
		Board:   board, Events: out.events, Metrics: timeline.Metrics(metrics), Now: p.Now, RebuildFrom: t.mayRebuildFrom,
		Quiet: p.Options.Quiet, Longest: p.Options.Longest,
		Budget:   p.portChanges(),
		Parallel: p.Options.Writes, Muxes: maxConcurrentMuxes, Print: out.print.plan,
	})
	if err := line.Setup(m); err != nil {
		return nil, err
	}
	reports.Changed = line.Wake
	gateways.wake(line)
	if err := gateways.add(ctx, m, language, t, out.events); err != nil {
		return nil, err
	}
	return line, backends.Setup(m, backends.Options{
		Language: language, Claims: board.Known, Claimants: gateways.ofBackends(), Waker: waker,
		Writer: out.print.writer(m.GetClient()), Print: out.print.slices, Live: m.GetAPIReader(),
		Tell: tell(m.GetCache(), out.events), LooksAfter: line.LooksAfter, Reports: reports, Metrics: carried,
		Concurrency: p.Options.Writes, Now: p.Now,
	})
}

func (p Process) portChanges() budget.Limit {
	return budget.Limit{Burst: p.Options.PortChangesBurst, Pace: p.Options.PortChangesPace}
}

// maxConcurrentMuxes limits the concurrent passes over muxes of one namespace.
const maxConcurrentMuxes = 4

// outputs are the destinations of Events and, in a dry run, of all writes.
type outputs struct {
	events record.EventRecorder
	print  printer
	close  func()
}

func (p Process) outputs(set kubernetes.Interface) outputs {
	if p.dry() {
		return outputs{silentRecorder{}, newPrinter(p.Logs, time.Second), func() {}}
	}
	broadcaster := newBroadcaster(set)
	return outputs{broadcaster.NewRecorder(newScheme(), corev1.EventSource{Component: "svc-lb-mux"}), printer{},
		broadcaster.Shutdown}
}

func restConfig(file, version string) (*rest.Config, error) {
	load := rest.InClusterConfig // clientcmd would do the same, but log a warning
	if file != "" {
		load = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags("", file) }
	}
	kube, err := load()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %q: %w", file, err)
	}
	kube.UserAgent = "svc-lb-mux-reconciler/" + version
	kube.QPS, kube.Burst = -1, -1           // API Priority and Fairness is the limiter
	kube.WarningHandler = rest.NoWarnings{} // the takeover reads Endpoints although they are deprecated
	return kube, nil
}
