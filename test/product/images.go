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

// Archives builds the images of webhook and reconciler of this tree, as archives for cluster.Nodes. More programs, such as gateway, get
// images too.
func Archives(t testing.TB, more ...string) []string {
	t.Helper()
	archive, err := Build(t.Context(), t.TempDir(), Version, more...)
	if err != nil {
		t.Fatal(err)
	}
	return []string{archive}
}

// Build builds webhook, reconciler and more programs as `make build` does, with the given version, and writes an archive of
// their images into a folder.
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
	// If the tree was built before, only linking is left to do.
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -X nowake.ai/svc-lb-mux/cmd/internal/version.linked="+version, "-o", dir+"/")
	for _, name := range programs {
		build.Args = append(build.Args, "./cmd/"+name)
	}
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %v in %s: %w\n%s", programs, root, err, out)
	}
	var images []cluster.Image
	for _, name := range programs {
		images = append(images, cluster.Image{
			Name: Registry + "/svc-lb-mux/" + name + ":" + version, Program: filepath.Join(dir, name), As: "/" + name,
			Entrypoint: []string{"/" + name},
		})
	}
	archive = filepath.Join(dir, "images-"+version+".tar")
	return archive, cluster.WriteArchive(archive, images...)
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
