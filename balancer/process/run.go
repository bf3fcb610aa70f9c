package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"nowake.ai/svc-lb-mux/balancer"
	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/flows"
	"nowake.ai/svc-lb-mux/balancer/keep"
	"nowake.ai/svc-lb-mux/balancer/keepalived"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/logs"
	"nowake.ai/svc-lb-mux/balancer/probe"
	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/validation"
	"nowake.ai/svc-lb-mux/validation/flags"
)

// parts are what a process consists of.
type parts struct {
	options   Options
	log       *zap.SugaredLogger
	metrics   *balancer.Metrics
	seats     seats
	agent     *balancer.Agent
	source    *balancer.KubeSource
	registrar *balancer.Registrar
	prober    *probe.Prober // nil if backends aren't probed
}

// seats answer for addresses while Run runs.
type seats interface {
	balancer.Seats
	Run(ctx context.Context) error
	Addresses() ([]announce.Assigned, error)
}

// Run runs an agent until the context ends. It begins once no other agent works on this machine. At the end it hands
// over the seats that other gateways can take. The tables stay in the kernel for the next version, unless Goodbye is
// set.
func Run(ctx context.Context, o Options, version string, to io.Writer) error {
	debug.SetGCPercent(balancer.GCPercent)
	log := logs.New(o.level(), to)
	ctx = klog.NewContext(ctx, zapr.NewLogger(log))
	alone, err := awaitLock(ctx, &o, log.Sugar())
	if err != nil {
		if ctx.Err() != nil {
			return nil // it was told to end while it waited
		}
		return err
	}
	defer alone.release()
	p, err := build(o, version, log.Sugar())
	if err != nil {
		return err
	}
	err = p.run(ctx)
	if o.Goodbye {
		err = errors.Join(err, Cleanup(o))
	}
	return err
}

func (o *Options) level() zapcore.Level {
	text, _ := flags.Level(o.LogLevel, o.Debug) // checked before
	level, _ := zapcore.ParseLevel(text)
	return level
}

func build(o Options, version string, log *zap.SugaredLogger) (*parts, error) {
	o.Interface = cmp.Or(o.Interface, defaultInterface("/proc"))
	if o.Interface == "" {
		return nil, errors.New("--interface is empty, and there is no default route: name the interface for muxes' addresses")
	}
	machine := &balancer.Machine{Proc: "/proc", Interface: o.Interface, ReturnPath: want.ReturnPath(o.ReturnPath),
		Addresses: assigned,
		Blocked:   func() ([]balancer.BlockedChain, error) { return balancer.BlockedChains(0) }}
	if err := machine.CheckRights(); err != nil {
		return nil, err
	}
	language, err := validation.New(o.APIPrefix, o.Namespace)
	if err != nil {
		return nil, err
	}
	client, err := connect(o.Kubeconfig, version)
	if err != nil {
		return nil, err
	}
	p := &parts{options: o, log: log, metrics: balancer.NewMetrics()}
	p.metrics.CountTraffic(func() ([]table.Count, error) { return table.Counts(0) })
	watched := balancer.Watched{Language: language, Namespace: o.Namespace, Pool: o.Pool,
		MuxNamespaces: flags.List(o.MuxNamespaces)}
	if p.source, err = balancer.NewKubeSource(client, watched, log); err != nil {
		return nil, err
	}
	before, err := keep.Directory(o.StateDir).Load(o.Name, o.Pool)
	if err != nil {
		log.Warnw("The state of before isn't used", "error", err.Error())
	}
	p.seats = newSeats(&o, before, log)
	if o.ProbeBackends > 0 {
		p.prober = probe.New(o.ProbeBackends)
	}
	p.registrar = balancer.NewRegistrar(client.CoordinationV1().Leases(o.Namespace), p.registration(version),
		language.Keys(),
		p.metrics, log)
	if o.Peers == "" {
		p.registrar.Addresses = p.reachable
	}
	p.agent = balancer.New(p.config(language.Keys(), before, machine))
	return p, nil
}

// newSeats returns the seats of the mode: keepalived's, or those of an announcer.
func newSeats(o *Options, before *keep.State, log *zap.SugaredLogger) seats {
	group, taken := o.Namespace+"/"+o.Pool, balancer.ResumeFlows(log)
	if announce.Mode(o.Announce) == keepalived.Mode {
		return keepalived.New(keepalived.Options{Config: o.KeepalivedConfig, PID: o.KeepalivedPID, Interface: o.Interface,
			Unicast: o.Unicast,
			Group:   group, Interval: o.Interval, Taken: taken, Log: log})
	}
	return announce.New(announce.Options{Interface: o.Interface, Mode: announce.Mode(o.Announce), Unicast: o.Unicast,
		Group:    group,
		Interval: o.Interval, Known: carried(before), Taken: taken, Log: log})
}

func (p *parts) config(keys validation.Keys, before *keep.State, machine *balancer.Machine) balancer.Config {
	o := &p.options
	networks, _ := o.networks() // checked before
	sources, _ := addresses("", o.Sources)
	c := balancer.Config{Name: o.Name, Pool: o.Pool, Keys: keys, Source: sources,
		ReturnPath: want.ReturnPath(o.ReturnPath), BackendNetworks: networks, Node: o.Node, News: p.source,
		Tables: table.Open(0),
		Seats:  p.seats, State: keep.Directory(o.StateDir), Before: before, Addresses: p.seats.Addresses,
		Check:     machine.Check,
		DropFlows: func(gone []flows.Gone) (int, error) { return flows.Drop(0, gone) },
		Report:    p.registrar.Report, Metrics: p.metrics, Log: p.log}
	if p.prober != nil {
		c.Prober = p.prober
	}
	return c
}

// registration returns what the Lease tells of this machine.
func (p *parts) registration(version string) lease.Gateway {
	o := &p.options
	labels, _ := o.labels() // checked before
	networks, _ := o.networks()
	peers, _ := addresses("", o.Peers)
	host, _ := os.Hostname()
	return lease.Gateway{Name: o.Name, Pool: o.Pool, Labels: labels, Holder: fmt.Sprintf("%s-%d", host, os.Getpid()),
		Facts: &lease.Facts{Node: o.Node, Zone: o.Zone, Addresses: peers, Capacity: o.Capacity, BackendNetworks: networks,
			Version: version}}
}

// reachable returns the addresses at which other gateways reach this one.
func (p *parts) reachable(before []netip.Addr) ([]netip.Addr, error) {
	assigned, err := p.seats.Addresses()
	return balancer.Reachable(p.options.Interface, assigned, before), err
}

// run runs all parts. The first part that ends, with or without an error, ends the others.
func (p *parts) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := p.serve()
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var failed []error
	var lock sync.Mutex
	start := func(f func(context.Context) error) {
		all.Go(func() {
			err := f(ctx)
			lock.Lock()
			defer lock.Unlock()
			failed = append(failed, err)
			cancel()
		})
	}
	start(p.agent.Run)
	if p.prober != nil {
		start(func(ctx context.Context) error { p.prober.Run(ctx); return nil })
	}
	start(p.seats.Run)
	start(func(ctx context.Context) error { p.source.Run(ctx); return nil })
	start(func(ctx context.Context) error { p.registrar.Run(ctx); return nil })
	p.log.Infow("The gateway runs", "name", p.options.Name, "pool", p.options.Pool, "interface", p.options.Interface)
	all.Wait()
	return errors.Join(append(failed, server.Close())...)
}

// Cleanup removes what agents left on this machine: tables, addresses and state.
func Cleanup(o Options) error {
	directory := keep.Directory(o.StateDir)
	before, _ := directory.Load(o.Name, o.Pool) // a state that can't be read is removed, too
	// The addresses go first: without tables, the machine's own services would answer on them.
	var failed error
	if announce.Mode(o.Announce) == keepalived.Mode {
		failed = keepalived.Remove(o.KeepalivedConfig, o.KeepalivedPID)
	}
	return errors.Join(failed, announce.Remove(cmp.Or(o.Interface, defaultInterface("/proc")), carried(before)),
		table.Open(0).Remove(), directory.Remove())
}

// carried returns the addresses that the agent wanted to carry, as its state says.
func carried(before *keep.State) []netip.Addr {
	if before == nil {
		return nil
	}
	var all []netip.Addr
	for _, a := range before.Wanted.Tables.Addresses {
		all = append(all, a.Address)
	}
	return all
}

func assigned() []netip.Addr {
	list, _ := announce.Addresses()
	all := make([]netip.Addr, len(list))
	for i := range list {
		all[i] = list[i].Address
	}
	return all
}

func connect(kubeconfig, version string) (kubernetes.Interface, error) {
	load := rest.InClusterConfig
	if kubeconfig != "" {
		load = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags("", kubeconfig) }
	}
	config, err := load()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %q: %w", kubeconfig, err)
	}
	config.UserAgent = "svc-lb-mux-gateway/" + version
	config.QPS, config.Burst = -1, -1 // API Priority and Fairness is the limiter
	return kubernetes.NewForConfig(config)
}

// defaultInterface returns the interface of the default route; nothing without one.
func defaultInterface(proc string) string {
	text, err := os.ReadFile(proc + "/net/route")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 7 && fields[1] == "00000000" && fields[7] == "00000000" {
			return fields[0]
		}
	}
	// IPv6: destination, its length, source, its length, next hop, metric, references, use, flags, interface.
	text, err = os.ReadFile(proc + "/net/ipv6_route")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 9 && fields[1] == "00" && strings.Trim(fields[0], "0") == "" && fields[9] != "lo" {
			return fields[9]
		}
	}
	return ""
}
