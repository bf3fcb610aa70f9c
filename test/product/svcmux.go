package product

import (
	"context"
	"fmt"
	"os"
	"os/exec"
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
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -X nowake.ai/svc-lb-mux/cmd/internal/version.linked="+version, "-o", program, "./cmd/svcmux")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build svcmux: %w\n%s", err, out)
	}
	return program, os.Symlink("svcmux", filepath.Join(dir, "kubectl-svcmux"))
}
