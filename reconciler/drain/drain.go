// Package drain removes our addresses, ports and slices from all muxes, in the order that keeps the promises, until
// nothing is left. Ledgers stay, so that a reinstall gives every channel the same numbers. The process that drains must
// be the leader. One pass over a mux is package mux's task.
//
//	pass    each mux: clean its channels, then remove its ports    again, until two passes in a row found nothing
//	        clean Services that were channels once
//	        remove slices and Endpoints of muxes without ports of ours
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
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/services"
)

// Options are the inputs of a drain.
type Options struct {
	Line    *services.Line
	Carried backends.Drained
	// Patience is how long passes may fail without progress. After that, Run returns an error.
	Patience time.Duration
	// Pause is the time between two passes. It lets the cache catch up with the last writes of others.
	Pause time.Duration
	// Report receives the progress for users.
	Report io.Writer
	// Dry prints the writes instead of making them.
	Dry bool
}

// maxMoves limits the passes that find something to remove. If more find something, another writer puts it back.
const maxMoves = 30

// Run drains, and returns nil once only ledgers are left.
func Run(ctx context.Context, options Options) error {
	d := &drainer{Options: options, tallies: map[types.NamespacedName]*tally{}}
	d.Carried.Ready = func(mux types.NamespacedName) bool { return d.Line.LooksAfter(mux) && !d.busy[mux] }
	d.Carried.Ours = func(mux types.NamespacedName) bool { return d.tallies[mux] != nil }
	if d.Dry {
		d.Carried.Would = func(slice *discoveryv1.EndpointSlice) {
			fmt.Fprintf(d.Report, "dry run: delete EndpointSlice %s\n", client.ObjectKeyFromObject(slice))
		}
		_, err := d.pass(ctx)
		return err
	}
	err := d.untilQuiet(ctx)
	d.report()
	if err != nil {
		return err
	}
	return d.frozen()
}

// drainer is the state of a drain.
type drainer struct {
	Options
	tallies map[types.NamespacedName]*tally
	// busy are the muxes that may still have ports of ours.
	busy   map[types.NamespacedName]bool
	strays int
}

// tally counts the removed parts of one mux.
type tally struct {
	channels, ports, slices int
	held                    int // numbers that the ledger keeps
	freeze                  *plan.Freeze
}

func (d *drainer) untilQuiet(ctx context.Context) error {
	until := time.Now().Add(d.Patience)
	quiet := 0
	var last error
	for moves := 0; quiet < 2; {
		moved, err := d.pass(ctx)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("ended before everything was removed, so drain again: %w", context.Cause(ctx))
		case moved:
			quiet, until = 0, time.Now().Add(d.Patience)
			moves++
		case err == nil:
			quiet++
		}
		if err != nil {
			last = fmt.Errorf("what failed last: %w", err)
		}
		if moves > maxMoves {
			return errors.Join(fmt.Errorf("after %d passes there is still something to remove: somebody puts it back; stop "+
				"what does that (another reconciler, the Python original), and drain again", moves), last)
		}
		if err != nil && time.Now().After(until) {
			return fmt.Errorf("given up after %s without progress, so fix this and drain again: %w", d.Patience, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(d.Pause):
		}
	}
	return nil
}

// pass removes our parts of all muxes. It returns whether it found any. After an error it continues with the rest.
func (d *drainer) pass(ctx context.Context) (bool, error) {
	muxes, err := d.Line.Spoken(ctx)
	if err != nil {
		return false, err
	}
	d.busy = map[types.NamespacedName]bool{}
	moved := false
	var failed []error
	for _, key := range muxes {
		took, err := d.mux(ctx, key)
		moved = moved || took
		failed = append(failed, err)
	}
	strays, err := d.Line.DrainStrays(ctx)
	failed = append(failed, err)
	d.strays += strays
	gone, err := d.Carried.Slices(ctx)
	failed = append(failed, err)
	for key, n := range gone {
		d.tally(key).slices += n
	}
	return moved || strays+len(gone) > 0, errors.Join(failed...)
}

// mux drains one mux.
func (d *drainer) mux(ctx context.Context, key types.NamespacedName) (bool, error) {
	t := d.tally(key)
	d.busy[key] = true
	p, err := d.Line.Drain(ctx, key)
	if err != nil {
		return false, err
	}
	t.freeze, t.held = p.Freeze, p.Usage.Held
	t.channels += len(p.Hide)
	t.ports += len(p.Leaving)
	switch {
	case p.Freeze != nil:
		return false, nil
	case d.Dry || p.Empty() && p.Again.IsZero():
		delete(d.busy, key)
	}
	if d.Dry || d.busy[key] {
		return !p.Empty(), nil
	}
	return false, d.Carried.Endpoints(ctx, key)
}

func (d *drainer) tally(mux types.NamespacedName) *tally {
	if d.tallies[mux] == nil {
		d.tallies[mux] = &tally{}
	}
	return d.tallies[mux]
}

// report prints the removed parts of each mux.
func (d *drainer) report() {
	for _, key := range slices.SortedFunc(maps.Keys(d.tallies), plan.CompareKeys) {
		t, name := d.tallies[key], key.String()
		if key.Name == "" {
			name = "(none named by the class)"
		}
		if t.freeze != nil {
			fmt.Fprintf(d.Report, "mux %s: left as it is: %s: %s\n", name, t.freeze.Reason, t.freeze.Message)
			continue
		}
		fmt.Fprintf(d.Report, "mux %s: cleaned %d channel(s), removed %d port(s) and %d slice(s); "+
			"its ledger keeps %d number(s)\n",
			name, t.channels, t.ports, t.slices, t.held)
	}
	if d.strays > 0 {
		fmt.Fprintf(d.Report, "cleaned %d Service(s) that were channels once\n", d.strays)
	}
}

// frozen returns an error for each frozen mux, which keeps its ports.
func (d *drainer) frozen() error {
	var errs []error
	for _, key := range slices.SortedFunc(maps.Keys(d.tallies), plan.CompareKeys) {
		if freeze := d.tallies[key].freeze; freeze != nil {
			errs = append(errs, fmt.Errorf("mux %s is frozen, and keeps its ports: fix this and drain again: %s",
				key, freeze.Message))
		}
	}
	return errors.Join(errs...)
}
