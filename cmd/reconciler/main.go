// Command reconciler is the reconciler's process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"nowake.ai/svc-lb-mux/cmd/internal/version"
	"nowake.ai/svc-lb-mux/reconciler"
)

// The exit codes, besides 0: told to end, and ended in order.
const (
	failed  = 1
	refused = 2 // the command line, or the environment
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	options := reconciler.DefaultOptions(getenv)
	flags := flag.NewFlagSet("reconciler", flag.ContinueOnError)
	flags.SetOutput(stderr)
	show := flags.Bool("version", false, "print the version and exit")
	options.AddFlags(flags)

	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return refused // the flag set has said why
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "reconciler: takes no arguments, got %q; try --help\n", flags.Arg(0))
		return refused
	case *show:
		fmt.Fprintln(stdout, "reconciler", version.String())
		return 0
	}
	if err := options.Check(); err != nil {
		fmt.Fprintf(stderr, "reconciler: %v\n", err)
		return refused
	}
	if err := reconciler.Run(ctx, options, version.String(), stderr); err != nil {
		fmt.Fprintf(stderr, "reconciler: %v\n", err)
		return failed
	}
	return 0
}
