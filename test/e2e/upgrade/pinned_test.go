package upgrade

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/product"
)

// pinned is the commit that the test upgrades from. Change it here only.
const pinned = "45c2fd06327ec33b0208ce7d998b3838cd45c8f8"

// pinnedVersion tags the images of that commit.
const pinnedVersion = "0.0.0-pinned"

// unpackPinned writes the tree of the pinned commit into a temporary folder.
func unpackPinned(t *testing.T) (root string) {
	t.Helper()
	checkout, err := product.Checkout()
	if err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	if err := unpack(t.Context(), checkout, pinned, root); err != nil {
		t.Fatal(err)
	}
	return root
}

// unpack writes the tree of a commit into a folder. The clone itself stays as it is.
func unpack(ctx context.Context, clone, commit, dir string) error {
	if err := run(ctx, "git", "-C", clone, "cat-file", "-e", commit+"^{commit}"); err != nil {
		return fmt.Errorf("the upgrade test installs commit %s, and the clone %s doesn't have it: run `git fetch "+
			"--unshallow`, or `git fetch origin %s`, and test again: %w", commit, clone, commit, err)
	}
	archive := filepath.Join(dir, "tree.tar")
	if err := run(ctx, "git", "-C", clone, "archive", "--format=tar", "--output="+archive, commit); err != nil {
		return err
	}
	if err := run(ctx, "tar", "-C", dir, "-xf", archive); err != nil {
		return err
	}
	return os.Remove(archive)
}

func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// TestMissingCommitSuggestsARemedy uses a clone without the pinned commit, as CI has after a shallow fetch.
func TestMissingCommitSuggestsARemedy(t *testing.T) {
	clone := t.TempDir()
	if err := run(t.Context(), "git", "init", "--quiet", clone); err != nil {
		t.Fatal(err)
	}
	err := unpack(t.Context(), clone, pinned, t.TempDir())
	if err == nil {
		t.Fatal("an empty clone has the pinned commit")
	}
	for _, words := range []string{pinned, clone, "git fetch --unshallow"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("the error doesn't name %q: %v", words, err)
		}
	}
}
