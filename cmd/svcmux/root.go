package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/changes"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/doctor"
	"nowake.ai/svc-lb-mux/cmd/svcmux/explain"
	"nowake.ai/svc-lb-mux/cmd/svcmux/ports"
	"nowake.ai/svc-lb-mux/cmd/svcmux/snapshot"
	"nowake.ai/svc-lb-mux/cmd/svcmux/status"
	"nowake.ai/svc-lb-mux/cmd/svcmux/survey"
	"nowake.ai/svc-lb-mux/cmd/svcmux/tcpservices"
	"nowake.ai/svc-lb-mux/cmd/svcmux/top"
	"nowake.ai/svc-lb-mux/cmd/svcmux/validate"
	"nowake.ai/svc-lb-mux/cmd/svcmux/versions"
)

const name = "svcmux"

// program returns the name for messages: that of a plugin if kubectl calls us as one.
func program(arg0 string) string {
	if strings.HasPrefix(filepath.Base(arg0), "kubectl-") {
		return "kubectl " + name
	}
	return name
}

// run runs a command line and returns the exit code.
func run(ctx context.Context, args []string, env cli.Env) int {
	root := root(env)
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintf(env.Err, "%s: %s\n", ran.CommandPath(), cli.Sentence(err.Error()))
	}
	return cli.ExitCode(err)
}

func root(env cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:         name,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: env.Program},
		Short:       "The command line of svc-lb-mux",
		Long: env.Program + ` is the command line of svc-lb-mux: many LoadBalancer Services, one load balancer.

It only reads. Where a command proposes Services, it writes them as manifests for kubectl apply.`,
		Version:       env.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE:          usage(env),
	}
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SetVersionTemplate(name + " {{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.AddCommand(changes.Command(env), doctor.Command(env), explain.Command(env), imports(env), ports.Command(env),
		snapshot.Command(env),
		status.Command(env), survey.Command(env), top.Command(env), validate.Command(env), versions.Command(env))
	strictCompletion(root, env)
	strictHelp(root)
	return root
}

// strictHelp makes help refuse a command that isn't there: cobra's own command prints the help of the root and
// succeeds.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, help := range root.Commands() {
		if help.Name() != "help" {
			continue
		}
		help.Args = func(_ *cobra.Command, args []string) error {
			of, unknown, err := root.Find(args)
			if err != nil {
				return err
			}
			return knownCommand(of, unknown)
		}
	}
}

// strictCompletion makes completion refuse a wrong shell as other groups refuse a wrong command: cobra's own command
// prints its help and succeeds.
func strictCompletion(root *cobra.Command, env cli.Env) {
	root.InitDefaultCompletionCmd()
	for _, group := range root.Commands() {
		if group.Name() != "completion" {
			continue
		}
		group.Args, group.RunE = knownCommand, usage(env)
		for _, shell := range group.Commands() {
			shell.Args = cli.NoArgs
		}
	}
}

// imports returns the group of commands that turn the settings of other tools into channels.
func imports(env cli.Env) *cobra.Command {
	group := &cobra.Command{
		Use:   "import",
		Short: "Turn the settings of other tools into channels",
		Args:  knownCommand,
		RunE:  usage(env),
	}
	group.AddCommand(tcpservices.Command(env))
	return group
}

// usage prints the commands of a group, and fails: the command line names none of them.
func usage(env cli.Env) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		fmt.Fprint(env.Err, cmd.UsageString())
		return cli.Exit(cli.ExitUsage)
	}
}

// knownCommand refuses arguments that are no command, and names the command that was probably meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " -h lists the commands"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	return cli.Usagef("unknown command %q: %s", args[0], hint)
}

// wrongFlag adds the way out to a message of the flag parser.
func wrongFlag(cmd *cobra.Command, err error) error {
	return cli.Usagef("%w (%s -h lists the flags)", err, cmd.CommandPath())
}
