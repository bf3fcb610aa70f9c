package run

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nowake.ai/svc-lb-mux/reconciler/backends"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/allocate"
	gatewayline "nowake.ai/svc-lb-mux/reconciler/gatewayapi/line"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/reconciler/services"
	"nowake.ai/svc-lb-mux/validation"
)

// kindsEvery is how often a process looks whether the kinds of the Gateway API were installed.
const kindsEvery = 10 * time.Second

// gateways are the features of the Gateway API in a term. The board is nil if the implementation is off.
type gateways struct {
	process Process
	board   *gatewayline.Board
}

func (p Process) newGateways(keys validation.Keys, waker *backends.Waker, news *listenerNews) *gateways {
	g := &gateways{process: p}
	if p.Options.GatewayAPIImplementation && !p.dry() {
		g.board = gatewayline.NewBoard(keys)
		g.board.WakeBackends, g.board.SlicesOf, g.board.Tell = waker.Wake, backends.Sources, news.tell
	}
	return g
}

// wake makes the board wake the line of muxes.
func (g *gateways) wake(line *services.Line) {
	if g.board != nil {
		g.board.WakeMux = line.Wake
	}
}

func (g *gateways) ofMuxes() services.Claimants {
	if g.board == nil {
		return nil
	}
	return g.board
}

func (g *gateways) ofBackends() backends.Claimants {
	if g.board == nil {
		return nil
	}
	return g.board
}

// add adds the features that are on to a manager.
func (g *gateways) add(ctx context.Context, m manager.Manager, language validation.Language, t *term,
	events record.EventRecorder) error {
	p, log := g.process, logr.FromContextOrDiscard(ctx)
	var features []run.Feature
	if g.board != nil {
		features = append(features, gatewayline.New(gatewayline.Options{
			Language: language, Name: p.Options.name(), Namespaces: p.Options.muxNamespaces(), Board: g.board, Events: events,
			Now: p.Now, Log: log,
		}))
	}
	if p.Options.GatewayAPIAllocator && !p.dry() {
		features = append(features, allocate.New(allocate.Options{
			Language: language, Name: p.Options.name(), Namespaces: p.Options.muxNamespaces(), Events: events,
			Budget: p.portChanges(), RebuildFrom: t.mayRebuildFrom,
			Now: p.Now, Log: log,
		}))
	}
	if len(features) == 0 {
		return nil
	}
	return m.Add(&run.Runner{Language: language, Namespaces: p.Options.muxNamespaces(), Config: p.Config, Log: log,
		Every: kindsEvery, Features: features})
}
