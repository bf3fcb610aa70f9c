// Command webhook runs the admission webhook.
package main

import (
	"context"
	"io"

	"nowake.ai/svc-lb-mux/cmd/internal/run"
	"nowake.ai/svc-lb-mux/webhook"
)

func main() { run.Main(program) }

func program(getenv func(string) string) run.Program {
	options := webhook.DefaultOptions(getenv)
	return run.Program{
		Name:    "webhook",
		Options: &options,
		Run: func(ctx context.Context, version string, logs io.Writer) error {
			return webhook.Run(ctx, options, version, logs)
		},
	}
}
