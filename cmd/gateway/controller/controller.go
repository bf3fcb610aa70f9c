// Package controller is the subcommand of the gateways' controller.
package controller

import (
	"context"
	"io"

	"nowake.ai/svc-lb-mux/cmd/internal/run"
	"nowake.ai/svc-lb-mux/gateway/control/process"
)

// Program returns the subcommand.
func Program(getenv func(string) string) run.Program {
	options := process.DefaultOptions(getenv)
	return run.Program{
		Name:    "gateway controller",
		Options: &options,
		Run: func(ctx context.Context, version string, logs io.Writer) error {
			return process.Run(ctx, options, version, logs)
		},
	}
}
