// Command helm builds and runs the same Helm as the tests: a release needs one, the same on every machine.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
)

func main() {
	fmt.Fprintln(os.Stderr, run(context.Background()))
	os.Exit(1)
}

// run replaces this process with helm. It returns only if helm can't be started.
func run(ctx context.Context) error {
	cache, err := binaries.Open()
	if err != nil {
		return err
	}
	dirs, err := cache.Need(ctx, binaries.Helm3())
	if err != nil {
		return err
	}
	helm := filepath.Join(dirs["helm3"], "helm")

	return fmt.Errorf("run %s: %w", helm, syscall.Exec(helm, append([]string{"helm"}, os.Args[1:]...), os.Environ()))
}
