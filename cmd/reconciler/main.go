// Command reconciler runs the reconciler.
package main

import (
	"nowake.ai/svc-lb-mux/cmd/internal/run"
	"nowake.ai/svc-lb-mux/reconciler/process"
)

func main() { run.Main(program) }

func program(getenv func(string) string) run.Program {
	return run.Of("reconciler", process.DefaultOptions(getenv), process.Run)
}
