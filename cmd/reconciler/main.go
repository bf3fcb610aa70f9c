// Command reconciler runs the reconciler.
package main

import (
	"nowake.ai/svc-lb-mux/cmd/internal/run"
	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
)

func main() { run.Main(program) }

func program(getenv func(string) string) run.Program {
	return run.Of("reconciler", reconciler.DefaultOptions(getenv), reconciler.Run)
}
