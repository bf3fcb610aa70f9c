package top

import (
	"context"
	"errors"
	"os/signal"
	"strings"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
)

// Command returns the command.
func Command(env cli.Env) *cobra.Command {
	var flags look.Flags
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show muxes, ports, backends, traffic and changes, live in the terminal",
		Long: `Show muxes, ports, backends, traffic and changes, live in the terminal. Each is a page, as a table that you
can sort. ? lists the keys, q ends the program. Only gateways count traffic.

With -n, those muxes are shown that are in the namespace, or that its channels name. -l selects muxes by their labels.`,
		Example: `  {{.}} top
  {{.}} top -n shop`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), env, &flags) },
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "{{.}}", env.Program)
	flags.Bind(cmd, env)
	flags.BindSelector(cmd)
	return cmd
}

func run(ctx context.Context, env cli.Env, flags *look.Flags) error {
	if err := flags.Check(); err != nil {
		return err
	}
	if flags.Kube.FromSnapshot() {
		return cli.Usagef("top needs a cluster: status and ports read a snapshot")
	}
	if !env.IsTerminal() {
		return errors.New("top needs a terminal: " + env.Program + " status -w prints the lines that change")
	}
	cluster, ask, err := flags.Open(ctx, env)
	if err != nil {
		return err
	}
	ask.Slices, ask.Gateways = true, true
	// without a handler, the terminal isn't restored
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGTERM)
	defer stop()
	program := tea.NewProgram(newModel(env, cluster.Server), tea.WithContext(ctx), tea.WithInput(env.In),
		tea.WithOutput(env.Out))
	f := &feed{flags: flags, ask: ask, env: env}
	go func() {
		err := look.Follow(ctx, cluster, ask, refresh, func(w *look.World) error {
			program.Send(f.pages(w))
			return nil
		})
		program.Send(ended{err})
	}()
	last, err := program.Run()
	if m, is := last.(*model); is && m.failure != nil {
		return m.failure
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, tea.ErrInterrupted) {
		return err
	}
	return nil
}
