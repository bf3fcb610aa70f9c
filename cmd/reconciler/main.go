// Command reconciler runs the reconciler.
package main

import (
	"context"
	"io"

	"nowake.ai/svc-lb-mux/cmd/internal/run"
	"nowake.ai/svc-lb-mux/reconciler/process"
)

func main() { run.Main(program) }

func program(getenv func(string) string) run.Program {
	options := process.DefaultOptions(getenv)
	return run.Program{
		Name:    "reconciler",
		Options: &options,
		Run: func(ctx context.Context, version string, logs io.Writer) error {
			return process.Run(ctx, options, version, logs)
		},
	}
}
