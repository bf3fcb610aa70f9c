// Command webhook runs the admission webhook.
package main

import (
	"nowake.ai/svc-lb-mux/cmd/internal/run"
	"nowake.ai/svc-lb-mux/webhook"
)

func main() { run.Main(program) }

func program(getenv func(string) string) run.Program {
	return run.Of("webhook", webhook.DefaultOptions(getenv), webhook.Run)
}
