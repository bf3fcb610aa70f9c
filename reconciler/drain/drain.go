// Package drain says goodbye: it takes addresses, ports and slices of ours away, mux by mux, in the order that keeps
// promises, until nothing is left to take. Ledgers stay: whoever comes back gives everybody the same numbers. It is for
// the one process that writes just now; what one pass over a mux does is package mux's matter.
//
//	pass    each mux: its channels bare, then its ports off        again, until two passes in a row found nothing
//	        Services that were channels once: bare
//	        slices and Endpoints of muxes that have no ports of ours
package drain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends"
	"nowake.ai/svc-lb-mux/reconciler/mux"
	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Options are what a goodbye needs of its process.
type Options struct {
	Line    *mux.Line
	Carried backends.Drained
	// Patience bounds how long it is tried though nothing gets any better.
	Patience time.Duration
	// Pause is how long to wait between two passes: what others wrote last must have come.
	Pause time.Duration
	// Report is for people.
	Report io.Writer
	// Dry prints, and writes nothing.
	Dry bool
}

// enough is how often a pass may find something new to take away. Somebody puts it back.
const enough = 30

// Run returns nil once nothing of ours is left but ledgers.
func Run(ctx context.Context, options Options) error {
	g := &goodbye{Options: options, tallies: map[types.NamespacedName]*tally{}}
	g.Carried.Ready = func(mux types.NamespacedName) bool { return g.Line.LooksAfter(mux) && !g.busy[mux] }
	g.Carried.Ours = func(mux types.NamespacedName) bool { return g.tallies[mux] != nil }
	if g.Dry {
		g.Carried.Would = func(slice *discoveryv1.EndpointSlice) {
			fmt.Fprintf(g.Report, "dry run: delete EndpointSlice %s\n", client.ObjectKeyFromObject(slice))
		}
		_, err := g.pass(ctx)
		return err
	}
	err := g.untilQuiet(ctx)
	g.report()
	if err != nil {
		return err
	}
	return g.frozen()
}

// goodbye is what is known of one so far.
type goodbye struct {
	Options
	tallies map[types.NamespacedName]*tally
	// busy are muxes that have ports of ours still, for all we know.
	busy   map[types.NamespacedName]bool
	strays int
}

// tally is what was taken of one mux.
type tally struct {
	channels, ports, slices int
	held                    int // numbers that its ledger keeps
	freeze                  *plan.Freeze
}

func (g *goodbye) untilQuiet(ctx context.Context) error {
	until := time.Now().Add(g.Patience)
	quiet := 0
	var last error
	for moves := 0; quiet < 2; {
		moved, err := g.pass(ctx)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("ended before all was taken away, so drain again: %w", context.Cause(ctx))
		case moved:
			quiet, until = 0, time.Now().Add(g.Patience)
			moves++
		case err == nil:
			quiet++
		}
		if err != nil {
			last = fmt.Errorf("what failed last: %w", err)
		}
		if moves > enough {
			return errors.Join(fmt.Errorf("after %d passes there is still something to take away: somebody puts it back; end what that "+
				"is (another reconciler, the Python original), and drain again", moves), last)
		}
		if err != nil && time.Now().After(until) {
			return fmt.Errorf("given up after %s in which nothing got better, so mend this and drain again: %w", g.Patience, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(g.Pause):
		}
	}
	return nil
}

// pass takes away what it finds. It returns whether that was anything; an error doesn't keep it from the rest.
func (g *goodbye) pass(ctx context.Context) (bool, error) {
	muxes, err := g.Line.Spoken(ctx)
	if err != nil {
		return false, err
	}
	g.busy = map[types.NamespacedName]bool{}
	moved := false
	var failed []error
	for _, key := range muxes {
		took, err := g.mux(ctx, key)
		moved = moved || took
		failed = append(failed, err)
	}
	strays, err := g.Line.DrainStrays(ctx)
	failed = append(failed, err)
	g.strays += strays
	gone, err := g.Carried.Slices(ctx)
	failed = append(failed, err)
	for key, n := range gone {
		g.tally(key).slices += n
	}
	return moved || strays+len(gone) > 0, errors.Join(failed...)
}

// mux takes what there is of one mux.
func (g *goodbye) mux(ctx context.Context, key types.NamespacedName) (bool, error) {
	t := g.tally(key)
	g.busy[key] = true
	p, err := g.Line.Drain(ctx, key)
	if err != nil {
		return false, err
	}
	t.freeze, t.held = p.Freeze, p.Usage.Held
	t.channels += len(p.Hide)
	t.ports += len(p.Leaving)
	switch {
	case p.Freeze != nil:
		return false, nil
	case g.Dry || p.Empty() && p.Again.IsZero():
		delete(g.busy, key)
	}
	if g.Dry || g.busy[key] {
		return !p.Empty(), nil
	}
	return false, g.Carried.Endpoints(ctx, key)
}

func (g *goodbye) tally(mux types.NamespacedName) *tally {
	if g.tallies[mux] == nil {
		g.tallies[mux] = &tally{}
	}
	return g.tallies[mux]
}

// report says what was taken of what.
func (g *goodbye) report() {
	for _, key := range slices.SortedFunc(maps.Keys(g.tallies), plan.CompareKeys) {
		t, name := g.tallies[key], key.String()
		if key.Name == "" {
			name = "that no class names"
		}
		if t.freeze != nil {
			fmt.Fprintf(g.Report, "mux %s: left as it is: %s: %s\n", name, t.freeze.Reason, t.freeze.Message)
			continue
		}
		fmt.Fprintf(g.Report, "mux %s: %d channel(s) bare, %d port(s) off, %d slice(s) gone; its ledger keeps %d number(s)\n",
			name, t.channels, t.ports, t.slices, t.held)
	}
	if g.strays > 0 {
		fmt.Fprintf(g.Report, "%d Service(s) that were channels once: bare\n", g.strays)
	}
}

// frozen says which muxes are left, and why.
func (g *goodbye) frozen() error {
	var errs []error
	for _, key := range slices.SortedFunc(maps.Keys(g.tallies), plan.CompareKeys) {
		if freeze := g.tallies[key].freeze; freeze != nil {
			errs = append(errs, fmt.Errorf("mux %s is frozen, and keeps its ports: mend this and drain again: %s",
				key, freeze.Message))
		}
	}
	return errors.Join(errs...)
}
