package sim

import (
	"context"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/backends"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/line"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/services"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// Routed is the first seed whose histories have Gateways that are served here. They have everything of Edited
// histories, too. Histories of seeds from Slow on have no Gateways.
const Routed = 10_000_000_000

// Fed is the first seed whose histories have many routes from an existing listener to a port of the same protocol. In
// other histories, few listeners have backends.
const Fed = 15_000_000_000

func (s *Sim) hasGateways() bool { return s.Seed >= Routed && s.Seed < Slow }

// ofGateways is the part of a process that serves Gateways, as changes and requests name it.
const ofGateways = ", for Gateways"

// servedKinds are the kinds that the part has in its cache. Services are in the cache of the lines, too.
func servedKinds() []api.Kind {
	return []api.Kind{api.GatewayClasses, api.Gateways, api.ListenerSets, api.TCPRoutes, api.UDPRoutes,
		api.ReferenceGrants, api.Namespaces, api.Services}
}

// served is the part of a process that serves Gateways. It has a cache of its own, as in the process.
type served struct {
	*process
	cache *memory
	board *line.Board
	// told has the listeners with which the last pass over each mux began. live has the listeners that the pass read live;
	// nil is a listener that is gone.
	told map[types.NamespacedName]map[types.NamespacedName]*plan.ObservedChannel
	// seen has each Gateway as it was in the cache when the last pass over it began.
	seen map[types.NamespacedName]*gatewayv1.Gateway
	mu   sync.Mutex
	live map[types.NamespacedName]map[types.NamespacedName]*plan.ObservedChannel
}

func newServed(s *Sim, p *process) *served {
	trim := func(obj client.Object) client.Object {
		if svc, is := obj.(*corev1.Service); is {
			run.TrimService(svc, &s.language)
		}
		return obj
	}
	part := &served{process: p, cache: newMemory(s.server, servedKinds(), nil, trim),
		seen: map[types.NamespacedName]*gatewayv1.Gateway{},
		told: map[types.NamespacedName]map[types.NamespacedName]*plan.ObservedChannel{},
		live: map[types.NamespacedName]map[types.NamespacedName]*plan.ObservedChannel{}}
	part.cache.kinds[api.Services].name += ofGateways
	part.cache.backwards = p.cache.backwards
	return part
}

// informers returns the informers of a process, in a fixed order.
func (p *process) informers() []*informer {
	if p.served == nil {
		return p.cache.order
	}
	return append(p.cache.order[:len(p.cache.order):len(p.cache.order)], p.served.cache.order...)
}

// begin makes the board. ofMuxes and ofBackends pass it to the lines, as the process does.
func (g *served) begin(waker *backends.Waker) {
	if g != nil {
		g.board = line.NewBoard(g.sim.language.Keys())
		g.board.WakeBackends, g.board.SlicesOf = waker.Wake, backends.Sources
	}
}

func (g *served) ofMuxes() services.Claimants {
	if g == nil {
		return nil
	}
	return remembering{g.board, g}
}

func (g *served) ofBackends() backends.Claimants {
	if g == nil {
		return nil
	}
	return g.board
}

// setup adds the controllers, for a cluster in which all kinds of the Gateway API are installed.
func (g *served) setup(muxes *services.Line) error {
	if g == nil {
		return nil
	}
	g.board.WakeMux = muxes.Wake
	m := &runner{process: g.process, cache: g.cache, client: &api.Client{Server: g.sim.server, Do: g.ask(ofGateways)}}
	feature := line.New(line.Options{Language: g.sim.language, Board: g.board, Events: events{process: g.process},
		Now: g.now, Log: logr.Discard()})
	return feature.Setup(g.ctx, m,
		run.Kinds{"Gateway", "GatewayClass", "ListenerSet", "ReferenceGrant", "TCPRoute", "UDPRoute"})
}

// remembering is a board that remembers which listeners were read live.
type remembering struct {
	*line.Board
	of *served
}

// Live implements mux.Claimants.
func (r remembering) Live(ctx context.Context, mux, key types.NamespacedName) (*plan.ObservedChannel, error) {
	channel, err := r.Board.Live(ctx, mux, key)
	if err == nil {
		r.of.mu.Lock()
		defer r.of.mu.Unlock()
		r.of.live[mux][key] = channel
	}
	return channel, err
}

// begins stores what the board says when a pass over a mux begins.
func (g *served) begins(mux types.NamespacedName) {
	if g == nil {
		return
	}
	g.told[mux] = map[types.NamespacedName]*plan.ObservedChannel{}
	for _, channel := range g.board.On(mux) {
		g.told[mux][channel.Key] = &channel
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live[mux] = map[types.NamespacedName]*plan.ObservedChannel{}
}

// looksAt stores the cached Gateway when a pass over it begins.
func (g *served) looksAt(gateway types.NamespacedName) {
	g.seen[gateway], _ = g.cache.kinds[api.Gateways].objects[gateway].(*gatewayv1.Gateway)
}

// saw returns a listener as the last pass over a mux knew it; nil if it knew none.
func (g *served) saw(mux, key types.NamespacedName) *plan.ObservedChannel {
	g.mu.Lock()
	defer g.mu.Unlock()
	if live, is := g.live[mux][key]; is {
		return live
	}
	return g.told[mux][key]
}

// author returns the name of the process that made a change, and whether its part for Gateways did.
func author(by string) (name string, forGateways bool) { return strings.CutSuffix(by, ofGateways) }
