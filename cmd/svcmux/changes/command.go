package changes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
)

type options struct {
	look.Flags
	files []string
}

// Command returns the command.
func Command(env cli.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "plan -f FILE|DIR|-",
		Short: "Predict what Services in files would do to the muxes of the cluster",
		Long: `Predict the effect of kubectl apply: which ports of channels get a number, move to another one, lose theirs,
or are refused, and why. Files may create and change muxes and channels. A channel ends if its file changes its type
to ClusterIP. Services that no file has stay.

The reconciler's own code decides for the cluster as it is, and for the cluster with the files. Numbers of auto ports
are exact if you may read the ledger; otherwise the output says what is unknown. Nothing is written to the cluster.

The exit code is 0 without a change, 2 with changes, 3 if something is refused, and 1 for an error.`,
		Example: `  {{.}} plan -f channels/
  kustomize build . | {{.}} plan -f - -o markdown`,
		Args: func(cmd *cobra.Command, args []string) error { return failed(cli.NoArgs(cmd, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (%s -h lists the flags)", err, cmd.CommandPath())
	})
	cmd.Example = strings.ReplaceAll(cmd.Example, "{{.}}", env.Program)
	cmd.Flags().StringArrayVarP(&o.files, "filename", "f", nil,
		"a file, a directory, or - for standard input; may be repeated")
	o.Bind(cmd, env, "json", "yaml", "markdown")
	return cmd
}

func (o *options) run(ctx context.Context, env cli.Env) error {
	report, err := o.predict(ctx, env)
	if err != nil {
		return failed(err)
	}
	if err := report.print(env, o.Output); err != nil {
		return err
	}
	return cli.Exit(report.exitCode())
}

// failed gives every error the exit code 1, also a mistake in the command line: for this command, 2 means changes.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}

func (r *Report) print(env cli.Env, format string) error {
	switch format {
	case "json", "yaml":
		return look.Encode(env.Out, format, r)
	case "markdown":
		return look.Write(env.Out, []byte(r.markdown()))
	}
	lines := r.list()
	if len(lines.Rows) == 0 { // no table before the sentences
		for _, note := range lines.Notes {
			if err := look.Write(env.Out, []byte(cli.Wrap(note, env.Columns(env.Out), "")+"\n")); err != nil {
				return err
			}
		}
		return nil
	}
	return lines.Print(env, format)
}
