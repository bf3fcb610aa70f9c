package look

import (
	"context"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// Listing is a command that prints a list.
type Listing struct {
	Mux    string // the argument; empty for all
	Slices bool   // whether EndpointSlices are read
	// List makes the list from what was read.
	List func(*World, Ask) (*List, error)
	// Empty is a remark about a table without lines; "" for none.
	Empty string
}

// Run reads the cluster and prints the list, again and again with -w.
func (f *Flags) Run(ctx context.Context, env cli.Env, l Listing) error {
	if err := f.Check(); err != nil {
		return err
	}
	cluster, ask, err := f.Open(ctx, env)
	if err != nil {
		return err
	}
	if err := ask.Name(l.Mux); err != nil {
		return err
	}
	ask.Slices = l.Slices
	list := func(w *World) (*List, error) { return l.List(w, ask) }
	if f.Watch {
		return Watch(ctx, env, f, cluster, ask, list)
	}
	done := env.Progress("reading from " + cluster.Server)
	world, err := Read(ctx, cluster, ask)
	done()
	if err != nil {
		return err
	}
	Remark(env, world.Remarks)
	lines, err := list(world)
	if err != nil {
		return err
	}
	if len(lines.Rows) == 0 && f.Output == "" && l.Empty != "" {
		Remark(env, []string{l.Empty})
	}
	return lines.Print(env, f.Output)
}
