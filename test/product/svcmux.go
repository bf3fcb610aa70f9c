package product

import (
	"context"
	"os"
	"path/filepath"
)

// CommandLine builds svcmux of this tree into a folder, with the given version, also under its name as a plugin of
// kubectl. It returns the program's path.
func CommandLine(ctx context.Context, dir, version string) (string, error) {
	root, err := Checkout()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "svcmux")
	if err := Program(ctx, root, "svcmux", version, program); err != nil {
		return "", err
	}
	return program, os.Symlink("svcmux", filepath.Join(dir, "kubectl-svcmux"))
}
