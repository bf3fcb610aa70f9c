// Package agent has the subcommands that run on a gateway: agent and cleanup.
package agent

import (
	"context"
	"io"

	"nowake.ai/svc-lb-mux/balancer/process"
	"nowake.ai/svc-lb-mux/cmd/internal/run"
)

// Program returns the subcommand that runs the agent of one machine.
func Program(getenv func(string) string) run.Program {
	return run.Of("gateway agent", process.DefaultOptions(getenv), process.Run)
}

// CleanupProgram returns the subcommand that removes the agent's state from the kernel and the disk of this machine. It
// takes the agent's flags.
func CleanupProgram(getenv func(string) string) run.Program {
	options := process.DefaultOptions(getenv)
	options.InPod = true // so that no kubeconfig is required: cleanup needs no API server
	return run.Program{
		Name:    "gateway cleanup",
		Options: &options,
		Run: func(context.Context, string, io.Writer) error {
			return process.Cleanup(options)
		},
	}
}
