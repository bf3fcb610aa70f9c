// Package status is `svcmux status`: one line for each mux.
//
//	command.go  flags, and the reading        lines.go  a mux as a line, and sentences about it
package status

import (
	"strings"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
)

type options struct {
	look.Flags
	mux string
}

// Command returns the command.
func Command(env cli.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "status [MUX]",
		Short: "Print a line for each mux: address, ports, channels, and whether it is frozen",
		Long: `Print a line for each mux: its address, its provider, how many ports it has of how many that it may have, how
many numbers of its range are free, how many channels are accepted of all that name it, its state, and how long it has
room.

Below the lines are sentences about what needs attention. MUX is NAMESPACE/NAME, or a name in the namespace. With -n,
those muxes are shown that are in the namespace, or that its channels name. Without it, all are; or those of the
context's namespace, if you may not read all. A ? stands for what you may not read.

FULL is how long a mux has room at least, if ports are given as in the last week and none is given back. It is - where
the ledger doesn't tell, or nearly no port was given.`,
		Example: `  {{.}} status
  {{.}} status svc-mux/mux -o wide
  {{.}} status -w`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.CompleteMux,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.mux = strings.Join(args, "")
			return o.Run(cmd.Context(), env, look.Listing{Mux: o.mux, List: o.list})
		},
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "{{.}}", env.Program)
	o.Bind(cmd, env, "wide", "json", "yaml", "name")
	o.BindMany(cmd)
	return cmd
}

// List returns the lines of the muxes that the flags choose.
func List(f *look.Flags, world *look.World, ask look.Ask) (*look.List, error) {
	return (&options{Flags: *f}).list(world, ask)
}

// list returns the lines for a world.
func (o *options) list(world *look.World, ask look.Ask) (*look.List, error) {
	index := world.Index()
	muxes, err := index.Choose(&o.Flags, ask, o.mux)
	if err != nil {
		return nil, err
	}
	lines := &look.List{Schema: Schema, Header: header(o.Wide())}
	for _, mux := range muxes {
		seen, err := index.Sight(mux, ask.Now())
		if err != nil {
			return nil, err
		}
		item := of(seen)
		lines.Rows = append(lines.Rows,
			look.Row{Name: mux.String(), Cells: item.cells(o.Wide()), Item: item, Steady: item.steady()})
		lines.Notes = append(lines.Notes, item.notes()...)
	}
	return lines, nil
}
