// Package ports is `svcmux ports`: one line for each number of a mux.
//
//	command.go  flags, and the reading        lines.go  a number as a line        free.go  --free
package ports

import (
	"strings"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
)

type options struct {
	look.Flags
	mux  string
	free bool
}

// Command returns the command.
func Command(env cli.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "ports [MUX]",
		Short: "Print a line for each number of a mux: channel, ready backends, and state",
		Long: `Print a line for each number of a mux that is in use: the channel that has it and its port, whether the
channel asked for the number or for any (auto), since when, how many backends are ready, and the state.

Numbers in grace aren't on the mux; they are held for the channel that had them. Foreign ports are those of the mux's
own Service. MUX is NAMESPACE/NAME, or a name in the namespace. With -n, ports are shown that belong to muxes or
channels in the namespace. A ? stands for what you may not read.`,
		Example: `  {{.}} ports
  {{.}} ports svc-mux/mux -o wide
  {{.}} ports --free
  {{.}} ports -n shop -w`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.CompleteMux,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.mux = strings.Join(args, "")
			return o.Run(cmd.Context(), env, look.Listing{Mux: o.mux, Slices: !o.free, List: o.list,
				Empty: "No number is in use."})
		},
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "{{.}}", env.Program)
	cmd.Flags().BoolVar(&o.free, "free", false, "print the free numbers of the range that auto ports come from")
	o.Bind(cmd, env, "wide", "json", "yaml", "name")
	o.BindMany(cmd)
	return cmd
}

// List returns the lines of the numbers of the muxes that the flags choose, with a column for the mux.
func List(f *look.Flags, world *look.World, ask look.Ask) (*look.List, error) {
	o := options{Flags: *f}
	o.Watch = true
	return o.list(world, ask)
}

// list returns the lines for a world.
func (o *options) list(world *look.World, ask look.Ask) (*look.List, error) {
	index := world.Index()
	muxes, err := index.Choose(&o.Flags, ask, o.mux)
	if err != nil {
		return nil, err
	}
	lines := &look.List{Schema: Schema, Header: header(o.Watch, o.Wide())}
	if o.free {
		lines = &look.List{Schema: FreeSchema, Header: freeHeader(o.Watch)}
	}
	for _, mux := range muxes {
		seen, err := index.Sight(mux, ask.Now())
		if err != nil {
			return nil, err
		}
		rows := o.rows(seen, ask.Now())
		if o.free {
			rows = freeRows(seen, o.Watch)
		}
		for i := range rows {
			if len(muxes) > 1 && !o.Watch {
				rows[i].Group = cli.Shown(mux.String())
			}
		}
		lines.Rows = append(lines.Rows, rows...)
		lines.Notes = append(lines.Notes, notes(seen)...)
	}
	return lines, nil
}
