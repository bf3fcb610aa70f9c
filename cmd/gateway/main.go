// Command gateway runs a process of the gateways: the controller, which gives muxes addresses, or an agent, which
// carries these addresses on one machine. The subcommand cleanup removes an agent's state from its machine.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"nowake.ai/svc-lb-mux/cmd/gateway/agent"
	"nowake.ai/svc-lb-mux/cmd/gateway/controller"
	"nowake.ai/svc-lb-mux/cmd/internal/run"
	"nowake.ai/svc-lb-mux/cmd/internal/version"
)

// commands returns the subcommands.
func commands() map[string]func(getenv func(string) string) run.Program {
	return map[string]func(getenv func(string) string) run.Program{
		"agent":      agent.Program,
		"cleanup":    agent.CleanupProgram,
		"controller": controller.Program,
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(start(ctx, os.Getenv, os.Args[1:], os.Stdout, os.Stderr))
}

const (
	name    = "gateway"
	refused = 2 // the exit code for a bad command line
)

// start runs a subcommand and returns the exit code.
func start(ctx context.Context, getenv func(string) string, args []string, stdout, stderr io.Writer) int {
	word := ""
	if len(args) > 0 {
		word = args[0]
	}
	switch word {
	case "--version", "-version":
		fmt.Fprintln(stdout, name, version.String())
		return 0
	case "--help", "-help", "-h", "help":
		fmt.Fprint(stderr, usage())
		return 0
	}
	program, known := commands()[word]
	if !known {
		if word != "" {
			fmt.Fprintf(stderr, "%s: unknown command %q\n", name, word)
		}
		fmt.Fprint(stderr, usage())
		return refused
	}
	return program(getenv).Start(ctx, args[1:], stdout, stderr)
}

func usage() string {
	return fmt.Sprintf("Usage: %s <command> [flags]\n\nCommands: %s. %s <command> --help lists the flags.\n", name,
		strings.Join(slices.Sorted(maps.Keys(commands())), ", "), name)
}
