package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
)

// Command returns the command.
func Command(env cli.Env) *cobra.Command {
	var flags look.Flags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether an installation is healthy, and say what to do",
		Long: `Check whether an installation is healthy: releases, pods, the leader, rights, admission and its certificate,
ipMode in the API server and the data plane, muxes and channels, and alerts. Each check is ok, ! (a warning), X (a
failure), or ? (unknown, for example because you lack a right), with the way out.

Rights are checked with SubjectAccessReviews, which store nothing. Secrets aren't read. The exit code is 1 if a check
fails.`,
		Example: `  {{.}} doctor
  {{.}} doctor -o json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), env, &flags) },
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "{{.}}", env.Program)
	flags.Bind(cmd, env, "json", "yaml")
	return cmd
}

func run(ctx context.Context, env cli.Env, flags *look.Flags) error {
	if err := flags.Check(); err != nil {
		return err
	}
	cluster, ask, err := flags.Open(ctx, env)
	if err != nil {
		return err
	}
	done := env.Progress("asking " + cluster.Server)
	checks := Examine(ctx, cluster, ask, env.Version)
	done()
	if err := printReport(env, flags.Output, checks); err != nil {
		return err
	}
	if slices.ContainsFunc(checks, func(c Check) bool { return c.State == Failure }) {
		return cli.Exit(cli.ExitFailed)
	}
	return nil
}
