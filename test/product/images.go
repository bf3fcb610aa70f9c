package product

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// Registry is the images' registry. Its name resolves to nothing, so only imported images are available.
const Registry = "svc-lb-mux.test"

// Version is the version of the images that Archives builds.
const Version = "0.0.0-test"

// Archives builds the images of webhook and reconciler of this tree, as archives for cluster.Nodes. More programs, such
// as gateway, get images too.
func Archives(t testing.TB, more ...string) []string {
	t.Helper()
	archive, err := Build(t.Context(), t.TempDir(), Version, more...)
	if err != nil {
		t.Fatal(err)
	}
	return []string{archive}
}

// Build builds webhook, reconciler and more programs as `make build` does, with the given version, and writes an
// archive of their images into a folder.
func Build(ctx context.Context, dir, version string, more ...string) (archive string, err error) {
	root, err := Checkout()
	if err != nil {
		return "", err
	}
	return BuildTree(ctx, root, dir, version, more...)
}

// BuildTree does the same as Build for the sources in the folder root instead of this checkout.
func BuildTree(ctx context.Context, root, dir, version string, more ...string) (archive string, err error) {
	programs := append([]string{"webhook", "reconciler"}, more...)
	var images []cluster.Image
	for _, name := range programs {
		if err := Program(ctx, root, name, version, filepath.Join(dir, name)); err != nil {
			return "", err
		}
		images = append(images, cluster.Image{
			Name: Registry + "/svc-lb-mux/" + name + ":" + version, Program: filepath.Join(dir, name), As: "/" + name,
			Entrypoint: []string{"/" + name},
		})
	}
	archive = filepath.Join(dir, "images-"+version+".tar")
	return archive, cluster.WriteArchive(archive, images...)
}

// Program builds a program of the sources in the folder root as `make build` does, into a file. `go run` copies it to
// the file: Go caches a program that it links for go run, and links again for each go build.
func Program(ctx context.Context, root, name, version, file string) error {
	build := exec.CommandContext(ctx, "go", "run", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -X nowake.ai/svc-lb-mux/cmd/internal/version.linked="+version, "-exec", "cp -T", "./cmd/"+name, file)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", name, root, err, out)
	}
	return nil
}

// BuildForTest builds a program of this tree for a test, and returns its path.
func BuildForTest(t testing.TB, name string) string {
	t.Helper()
	root, err := Checkout()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := Program(t.Context(), root, name, Version, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// Checkout returns the folder of the module that the working directory is in.
func Checkout() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if mod == "" || mod == os.DevNull {
		return "", fmt.Errorf("the working directory is in no checkout of svc-lb-mux: change into one")
	}
	return filepath.Dir(mod), nil
}

// Chart returns the folder of this tree's chart.
func Chart() (string, error) {
	root, err := Checkout()
	return filepath.Join(root, "charts", "svc-lb-mux"), err
}
