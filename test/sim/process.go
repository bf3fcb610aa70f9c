package sim

import (
	"context"
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
	"nowake.ai/svc-lb-mux/reconciler/mux"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// process is one reconciler: a cache that follows from its start on, and lines that run once it leads.
type process struct {
	sim  *Sim
	name string
	ctx  context.Context
	end  context.CancelFunc
	// skew is how far its clock is off.
	skew time.Duration
	// led is since when it leads.
	led     time.Time
	cache   *memory
	queues  []*queue
	runs    []manager.Runnable
	leading bool
	dead    bool // guarded by the Sim's mutex: its requests fail
	// wrote has, by object, what the API server answered last.
	wrote map[string]client.Object
	// began has all Services as they were known when the last pass over a mux began.
	began map[types.NamespacedName]map[types.NamespacedName]*corev1.Service
	// beganAt is what the process's clock said then.
	beganAt map[types.NamespacedName]time.Time
	// learnt has what live reads of Services said last, and read what those of ledgers did.
	learnt map[types.NamespacedName]*corev1.Service
	read   map[types.NamespacedName]*corev1.ConfigMap
}

// newProcess starts one whose informers begin behind the present by up to behind versions.
func (s *Sim) newProcess(behind int64) *process {
	s.born++
	ctx, end := context.WithCancel(context.Background())
	p := &process{sim: s, name: fmt.Sprintf("reconciler-%d", s.born), ctx: ctx, end: end, wrote: map[string]client.Object{},
		began: map[types.NamespacedName]map[types.NamespacedName]*corev1.Service{}, beganAt: map[types.NamespacedName]time.Time{},
		learnt: map[types.NamespacedName]*corev1.Service{}, read: map[types.NamespacedName]*corev1.ConfigMap{}}
	p.cache = newMemory(s.server, map[api.Kind]labels.Selector{api.ConfigMaps: ledger.Selector(), api.Endpoints: backends.OursAmongEndpoints()}, s.trim)
	p.cache.backwards = s.rng.IntN(2) == 0
	for _, kind := range kinds() {
		at := s.server.Version()
		if behind > 0 {
			at = max(1, at-s.rng.Int64N(behind))
		}
		if p.cache.kinds[kind].start(at) != nil {
			p.cache.kinds[kind].relist()
		}
	}
	if err := p.setup(); err != nil {
		panic(err)
	}
	s.processes = append(s.processes, p)
	return p
}

// trim is what the process does to what it caches.
func (s *Sim) trim(obj client.Object) client.Object {
	switch o := obj.(type) {
	case *corev1.Service:
		mux.Trim(o, s.language, nil)
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

// rebuildFrom is on the process's clock. The real one is monotonic, so jumps don't count.
func (p *process) rebuildFrom() time.Time { return p.led.Add(lease + p.skew) }

// setup puts the lines together as reconciler.Process does.
func (p *process) setup() error {
	s := p.sim
	m := &runner{process: p}
	writer := &api.Client{Server: s.server, Do: p.ask}
	waker, refusals := &backends.Waker{}, &backends.Refusals{}
	board := ledger.NewBoard(waker.Wake)
	line := mux.New(mux.Options{
		Language: s.language, Cache: p.cache, Live: writer, Writer: writer, Sources: backends.Sources, OnMux: backends.OnMux,
		Carried: backends.Carried, RefusedSlices: refusals.Of,
		Ledgers: ledger.NewStore(s.language.Keys(), p.cache, writer, writer), Board: board,
		Events: events{process: p}, Metrics: figures{}, Now: p.now, RebuildFrom: p.rebuildFrom,
		Quiet: 50 * time.Millisecond, Longest: time.Second, Budget: s.budget, Parallel: 3, Muxes: 2,
	})
	if err := line.Setup(p.ctx, m); err != nil {
		return err
	}
	refusals.Notify(line.BackendsChanged)
	return backends.Setup(p.ctx, m, backends.Options{
		Language: s.language, Claims: board.Known, Waker: waker, Writer: writer, Live: writer,
		Tell:     func(e plan.Event) { p.tells(e.Object, string(e.Reason), e.Message) },
		Refusals: refusals, Concurrency: 2, Now: p.now,
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

// knows is the newest state of a Service that the process can have decided from: its cache's, or its own write's.
func (p *process) knows(key types.NamespacedName) *corev1.Service {
	cached, _ := p.cache.kinds[api.Services].objects[key].(*corev1.Service)
	wrote, _ := p.wrote[string(api.Services)+" "+key.String()].(*corev1.Service)
	if cached == nil || wrote != nil && versionOf(wrote) > versionOf(cached) {
		return wrote
	}
	return cached
}

// heard is the newest state of a Service that the process has come across in any way.
func (p *process) heard(key types.NamespacedName) *corev1.Service {
	known := p.knows(key)
	if learnt := p.learnt[key]; learnt != nil && (known == nil || versionOf(learnt) > versionOf(known)) {
		return learnt
	}
	return known
}

// begins keeps what is known as a pass over a mux begins: what is learnt in its midst comes too late for it.
func (p *process) begins(mux types.NamespacedName) {
	p.beganAt[mux] = p.now()
	p.began[mux] = map[types.NamespacedName]*corev1.Service{}
	for key := range p.cache.kinds[api.Services].objects {
		p.began[mux][key] = p.knows(key)
	}
	p.sim.promises.begins(mux, p)
}

// latest is the later of what the clock says, and of what it said when the last pass over a mux began: it may be set back meanwhile.
func (p *process) latest(mux types.NamespacedName) time.Time {
	now := p.now()
	if began := p.beganAt[mux]; began.After(now) {
		return began
	}
	return now
}

// saw is what was known of a Service when the last pass over a mux began, or has been written since.
func (p *process) saw(mux, key types.NamespacedName) *corev1.Service {
	began := p.began[mux][key]
	wrote, _ := p.wrote[string(api.Services)+" "+key.String()].(*corev1.Service)
	if began == nil || wrote != nil && versionOf(wrote) > versionOf(began) {
		return wrote
	}
	return began
}

// met is true if a pass began with that very Service in sight, or it was read live.
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
