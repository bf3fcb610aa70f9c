// Package run has the code that the main functions of our processes share: signals, flags, version, exit codes.
package run

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
)

// The exit codes. 0 is an orderly end: after a signal, or after --help or --version.
const (
	failed  = 1
	refused = 2 // bad flags or environment
)

// Program is one process.
type Program struct {
	Name    string
	Options Options
	// Run runs the program with the parsed Options until the context ends.
	Run func(ctx context.Context, version string, logs io.Writer) error
}

// Options are the settings of a process.
type Options interface {
	AddFlags(flags *flag.FlagSet)
	Check() error
}

// Of returns a program that calls work with the options, as they are after the flags are parsed.
func Of[T any, P interface {
	*T
	Options
}](name string, options T, work func(ctx context.Context, options T, version string, logs io.Writer) error) Program {
	return Program{Name: name, Options: P(&options), Run: func(ctx context.Context, version string, logs io.Writer) error {
		return work(ctx, options, version, logs)
	}}
}

// Main runs a program with the process's environment and arguments, and exits.
func Main(program func(getenv func(string) string) Program) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(program(os.Getenv).Start(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Start reads the command line, runs, and returns the exit code.
func (p Program) Start(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	show := flags.Bool("version", false, "print the version and exit")
	p.Options.AddFlags(flags)

	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return refused // the flag set has printed the error
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "%s: takes no arguments, got %q; try --help\n", p.Name, flags.Arg(0))
		return refused
	case *show:
		fmt.Fprintln(stdout, p.Name, version.String())
		return 0
	}
	if err := p.Options.Check(); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return refused
	}
	if err := p.Run(ctx, version.String(), stderr); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return failed
	}
	return 0
}
