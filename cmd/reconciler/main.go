// Command reconciler is the reconciler's process.
package main

import (
	"context"
	"io"

	"nowake.ai/svc-lb-mux/cmd/internal/process"
	"nowake.ai/svc-lb-mux/reconciler"
)

func main() { process.Main(program) }

func program(getenv func(string) string) process.Program {
	options := reconciler.DefaultOptions(getenv)
	return process.Program{
		Name:    "reconciler",
		Options: &options,
		Run: func(ctx context.Context, version string, logs io.Writer) error {
			return reconciler.Run(ctx, options, version, logs)
		},
	}
}
