package validate

import (
	"flag"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// Command returns the command. A non-zero exit code comes as an error without a message: Run has printed it.
func Command(env cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:                "validate -f FILE|DIR|-",
		Short:              "Judge the Services in files as admission would",
		DisableFlagParsing: true,
		ValidArgsFunction:  complete,
		RunE: func(_ *cobra.Command, args []string) error {
			return cli.Exit(Run(args, env))
		},
	}
	cmd.SetHelpFunc(func(*cobra.Command, []string) { Run([]string{"-h"}, env) })
	return cmd
}

// complete suggests flags, formats and files.
func complete(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		switch last := args[len(args)-1]; last {
		case "-o", "--output", "-output":
			return []string{"text", "json", "sarif", "github"}, cobra.ShellCompDirectiveNoFileComp
		}
	}
	if !strings.HasPrefix(typed, "-") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	(&options{}).flags(flags)
	flags.VisitAll(func(f *flag.Flag) {
		if name := "--" + f.Name; len(f.Name) > 1 && strings.HasPrefix(name, typed) {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}
