// Package clitest runs commands in tests.
package clitest

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// Result is the result of a run of a command.
type Result struct {
	Code     int
	Out, Err string
}

// Run runs a command outside of a terminal and without an environment.
func Run(t *testing.T, command func(cli.Env) *cobra.Command, stdin string, args ...string) Result {
	t.Helper()
	var out, errs strings.Builder
	cmd := command(cli.Env{
		Program: "svcmux", In: strings.NewReader(stdin), Out: &out, Err: &errs, Getenv: func(string) string { return "" },
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	if err != nil {
		errs.WriteString(err.Error())
	}
	return Result{cli.ExitCode(err), out.String(), errs.String()}
}
