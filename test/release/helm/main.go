// Command helm runs the Helm that the tests run, which is built if need be: a release wants one, and everyone the same.
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

// run returns only if helm can't be started: else this process becomes it.
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
