package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nowake.ai/svc-lb-mux/reconciler/backends"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/reconciler/services"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// process is a reconciler. Its cache is current from its start on, and its controllers run once it leads.
type process struct {
	sim  *Sim
	name string
	ctx  context.Context
	end  context.CancelFunc
	// skew is how far its clock is off.
	skew time.Duration
	// led is the time at which the process began to lead.
	led     time.Time
	cache   *memory
	served  *served // nil in histories without Gateways
	queues  []*queue
	runs    []manager.Runnable
	leading bool
	dead    bool // guarded by the Sim's mutex: its requests fail
	// wrote maps each object to the API server's last answer to a write.
	wrote map[string]client.Object
	// began maps each mux to the Services that were known when its last pass began.
	began map[types.NamespacedName]map[types.NamespacedName]*corev1.Service
	// beganAt maps each mux to the process's clock at that time.
	beganAt map[types.NamespacedName]time.Time
	// learnt has each Service as the process last read it live, and read each ledger as the process last read it live
	// or wrote it.
	learnt map[types.NamespacedName]*corev1.Service
	read   map[types.NamespacedName]*corev1.ConfigMap
}

// newProcess starts a process whose informers are up to the given number of versions behind.
func (s *Sim) newProcess(behind int64) *process {
	s.born++
	ctx, end := context.WithCancel(context.Background())
	p := &process{sim: s, name: fmt.Sprintf("reconciler-%d", s.born), ctx: ctx, end: end,
		wrote:   map[string]client.Object{},
		began:   map[types.NamespacedName]map[types.NamespacedName]*corev1.Service{},
		beganAt: map[types.NamespacedName]time.Time{},
		learnt:  map[types.NamespacedName]*corev1.Service{}, read: map[types.NamespacedName]*corev1.ConfigMap{}}
	p.cache = newMemory(s.server, kinds(),
		map[api.Kind]labels.Selector{api.ConfigMaps: record.Selector()}, s.trim)
	p.cache.backwards = s.rng.IntN(2) == 0
	if s.hasGateways() {
		p.served = newServed(s, p)
	}
	for _, inf := range p.informers() {
		at := s.server.Version()
		if behind > 0 {
			at = max(1, at-s.rng.Int64N(behind))
		}
		if inf.start(at) != nil {
			inf.relist()
		}
	}
	if err := p.setup(); err != nil {
		panic(err)
	}
	s.processes = append(s.processes, p)
	return p
}

// trim trims cached objects as the process does.
func (s *Sim) trim(obj client.Object) client.Object {
	switch o := obj.(type) {
	case *corev1.Service:
		services.Trim(o, s.language, nil)
	case *discoveryv1.EndpointSlice:
		backends.Trim(o, s.language.Keys())
	case *corev1.ConfigMap:
		named := ledger.Object()
		named.ObjectMeta = o.ObjectMeta
		ledger.Trim(named, s.language.Keys())
		return named
	}
	return obj
}
func (p *process) now() time.Time { return time.Now().Add(p.skew) }

// lease is how long a process that led before may believe that it still does.
const lease = 15 * time.Second

// rebuildFrom returns when the process may rebuild a lost ledger, by its own clock. A real process measures the wait
// with a monotonic clock, so jumps of its clock don't change the wait.
func (p *process) rebuildFrom() time.Time { return p.led.Add(lease + p.skew) }

// setup puts the lines together as reconciler.Process does.
func (p *process) setup() error {
	s := p.sim
	m := &runner{process: p, cache: p.cache}
	writer := &api.Client{Server: s.server, Do: p.ask("")}
	waker, reports := &backends.Waker{}, &backends.Reports{}
	p.served.begin(waker)
	board := ledger.NewBoard(waker.Wake)
	line := services.New(services.Options{
		Language: s.language, Cache: p.cache, Live: writer, Writer: writer,
		Sources: backends.SourcesOf(p.served.ofBackends()), Claimants: p.served.ofMuxes(), OnMux: backends.OnMux,
		Backing: reports.Of,
		Ledgers: ledger.NewStore(s.language.Keys(), p.cache, writer, writer), Board: board,
		Events: events{process: p}, Metrics: figures{}, Now: p.now, RebuildFrom: p.rebuildFrom,
		Quiet: 50 * time.Millisecond, Longest: time.Second, Budget: s.budget, Parallel: 3, Muxes: 2,
	})
	if err := errors.Join(line.Index(p.ctx, m), backends.Index(p.ctx, m.GetFieldIndexer(), s.language),
		line.Setup(m)); err != nil {
		return err
	}
	reports.Changed = line.Wake
	if err := p.served.setup(line); err != nil {
		return err
	}
	return backends.Setup(m, backends.Options{
		Language: s.language, Claims: board.Known, Claimants: p.served.ofBackends(), Waker: waker, Writer: writer,
		Live:    writer,
		Tell:    func(e plan.Event) { p.tells(e.Object, string(e.Reason), e.Message) },
		Reports: reports, Concurrency: 2, Now: p.now,
	})
}

// lead starts the controllers.
func (p *process) lead() {
	p.leading, p.led = true, time.Now()
	for _, run := range p.runs {
		go func() {
			if err := run.Start(p.ctx); err != nil {
				panic(err)
			}
		}()
	}
}

// knows returns the newest state of a Service on which the process can have based a decision: the cached one, or its
// own write.
func (p *process) knows(key types.NamespacedName) *corev1.Service {
	cached, _ := p.cache.kinds[api.Services].objects[key].(*corev1.Service)
	wrote, _ := p.wrote[string(api.Services)+" "+key.String()].(*corev1.Service)
	if cached == nil || wrote != nil && versionOf(wrote) > versionOf(cached) {
		return wrote
	}
	return cached
}

// heard returns the newest state of a Service that the process has seen in any way.
func (p *process) heard(key types.NamespacedName) *corev1.Service {
	known := p.knows(key)
	if learnt := p.learnt[key]; learnt != nil && (known == nil || versionOf(learnt) > versionOf(known)) {
		return learnt
	}
	return known
}

// begins stores what is known when a pass over a mux begins. Later changes come too late for the pass.
func (p *process) begins(mux types.NamespacedName) {
	p.beganAt[mux] = p.now()
	p.began[mux] = map[types.NamespacedName]*corev1.Service{}
	for key := range p.cache.kinds[api.Services].objects {
		p.began[mux][key] = p.knows(key)
	}
	p.served.begins(mux)
	p.sim.promises.begins(mux, p)
}

// latest returns the present clock, or the clock at the beginning of the last pass over a mux if that was later: the
// clock may have been set back.
func (p *process) latest(mux types.NamespacedName) time.Time {
	now := p.now()
	if began := p.beganAt[mux]; began.After(now) {
		return began
	}
	return now
}

// saw returns the state of a Service at the beginning of the last pass over a mux, or of a later write by the process.
func (p *process) saw(mux, key types.NamespacedName) *corev1.Service {
	began := p.began[mux][key]
	wrote, _ := p.wrote[string(api.Services)+" "+key.String()].(*corev1.Service)
	if began == nil || wrote != nil && versionOf(wrote) > versionOf(began) {
		return wrote
	}
	return began
}

// decidedFrom returns the newest state of a mux that the process can have based its last pass on: from the beginning of
// the pass, from its own later write, or from a live read.
func (p *process) decidedFrom(mux types.NamespacedName) *corev1.Service {
	saw, learnt := p.saw(mux, mux), p.learnt[mux]
	if saw == nil || learnt != nil && versionOf(learnt) > versionOf(saw) {
		return learnt
	}
	return saw
}

// met returns whether a pass began with the Service of that UID in the cache, or the process read that Service live.
func (p *process) met(key types.NamespacedName, uid types.UID) bool {
	if learnt := p.learnt[key]; learnt != nil && learnt.UID == uid {
		return true
	}
	for _, seen := range p.began {
		if svc := seen[key]; svc != nil && svc.UID == uid {
			return true
		}
	}
	return false
}

func versionOf(obj client.Object) int64 {
	version, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}
