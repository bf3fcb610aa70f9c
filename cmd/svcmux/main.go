// Command svcmux is the command line of svc-lb-mux. Named kubectl-svcmux, it is a plugin: kubectl svcmux.
package main

import (
	"context"
	"os"
	"os/signal"

	"nowake.ai/svc-lb-mux/cmd/internal/version"
	"nowake.ai/svc-lb-mux/svcmux"
	"nowake.ai/svc-lb-mux/svcmux/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(svcmux.Run(ctx, os.Args[1:], cli.Env{
		Program: svcmux.Program(os.Args[0]), Version: version.String(),
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
	}))
}
