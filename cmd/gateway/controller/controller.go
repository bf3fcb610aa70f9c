// Package controller is the subcommand of the gateways' controller.
package controller

import (
	"nowake.ai/svc-lb-mux/cmd/internal/run"
	"nowake.ai/svc-lb-mux/reconciler/addresses/process"
)

// Program returns the subcommand.
func Program(getenv func(string) string) run.Program {
	return run.Of("gateway controller", process.DefaultOptions(getenv), process.Run)
}
