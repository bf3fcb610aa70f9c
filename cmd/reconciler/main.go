// Command reconciler is the reconciler's process. This build only reports its version.
package main

import (
	"os"

	"nowake.ai/svc-lb-mux/cmd/internal/version"
)

func main() {
	os.Exit(version.Only("reconciler", os.Args[1:], os.Stdout, os.Stderr))
}
