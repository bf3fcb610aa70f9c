package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/host"
	"nowake.ai/svc-lb-mux/test/docs/page"
	"nowake.ai/svc-lb-mux/test/product"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// TestPages runs the blocks that are marked for the cluster, page by page. Pages that install the product come first,
// on an empty cluster.
func TestPages(t *testing.T) {
	stories := map[string][]page.Block{}
	var order []string
	for _, path := range pages(t) {
		if blocks := story(read(t, path)); len(blocks) > 0 {
			stories[path] = blocks
			order = append(order, path)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return rank(stories[a]) - rank(stories[b]) })
	w := start(t)
	for _, path := range order {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".md"), func(t *testing.T) { w.play(t, path, stories[path]) })
	}
}

// story returns the blocks that are for the cluster, or nil if no command is.
func story(blocks []page.Block) []page.Block {
	var kept []page.Block
	commands := false
	for _, block := range blocks {
		command := isFor(block)
		commands = commands || command
		if command || strings.HasPrefix(block.Mark, "file: ") {
			kept = append(kept, block)
		}
	}
	if !commands {
		return nil
	}
	return kept
}

func isFor(block page.Block) bool {
	return block.Language == "sh" && strings.HasPrefix(block.Mark, "test: cluster")
}

func bare(blocks []page.Block) bool {
	return slices.ContainsFunc(blocks, func(b page.Block) bool { return isFor(b) && says(b, "bare") })
}

func rank(blocks []page.Block) int {
	if bare(blocks) {
		return 0
	}
	return 1
}

func says(block page.Block, word string) bool {
	return slices.Contains(strings.Split(block.Mark, ", "), word)
}

// play runs a page to its end, or to the first block whose output differs: later blocks build on it.
func (w *world) play(t *testing.T, path string, blocks []page.Block) {
	begun := time.Now()
	w.ready(t, bare(blocks))
	t.Logf("the product is ready: %.1f s", time.Since(begun).Seconds())
	before := w.objects(t)
	defer func() {
		begun := time.Now()
		w.tidy(t, before)
		t.Logf("the page is tidied up: %.1f s", time.Since(begun).Seconds())
	}()
	folder := w.folder(t)
	for _, block := range blocks {
		if name, ok := strings.CutPrefix(block.Mark, "file: "); ok {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(block.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		begun := time.Now()
		if err := w.follow(t, folder, block); err != nil {
			t.Fatalf("%s:%d: %v", path, block.Line, err)
		}
		if strings.Contains(block.Text, "helm upgrade") {
			w.replaced(t)
		}
		t.Logf("%s:%d: %.1f s", path, block.Line, time.Since(begun).Seconds())
	}
}

// follow runs a block until it does what the page says. It retries if the block's mark allows that.
func (w *world) follow(t *testing.T, folder string, block page.Block) error {
	if !says(block, "until") {
		return w.once(t.Context(), folder, block)
	}
	var last error
	t.Cleanup(func() {
		if t.Failed() && last != nil {
			t.Log(last)
		}
	})
	cluster.Eventually(t, fmt.Sprintf("the block in line %d prints what is shown", block.Line),
		func(ctx context.Context) error {
			if err := w.once(ctx, folder, block); err != nil && ctx.Err() == nil {
				last = err
			} else if err == nil {
				last = nil
			}
			return last
		})
	return nil
}

func (w *world) once(ctx context.Context, folder string, block page.Block) error {
	printed, err := w.bash(ctx, folder, block.Text)
	switch fails := says(block, "fails"); {
	case err != nil && !fails:
		return fmt.Errorf("%w; it printed:\n%s", err, printed)
	case err == nil && fails:
		return errors.New("the command succeeds, but is marked to fail; it printed:\n" + printed)
	case block.Output == nil:
		return nil
	}
	return page.Compare(*block.Output, withoutProgress(printed))
}

// withoutProgress drops lines that depend on the machine: svcmux prints one if an answer takes long, and kubectl logs
// one if it ends a watch while it reads an event.
func withoutProgress(printed string) string {
	lines := slices.Collect(strings.Lines(printed))
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "reading from https://") || strings.Contains(line, "watch ended with error") &&
			strings.Contains(line, "context canceled")
	}), "")
}

// bash runs commands in the page's folder, with the variables that earlier commands set.
func (w *world) bash(ctx context.Context, folder, commands string) (string, error) {
	const prelude = `set -euo pipefail
exec 2>&1
cd "$FOLDER"
PATH="$PROGRAMS:$PATH"
set -a
[ ! -f .variables ] || . ./.variables
trap 'export -p >.variables' EXIT
`
	out, err := w.Run(ctx, cluster.Program{Args: []string{"/bin/bash", "-c", prelude + commands}, Env: []string{
		"FOLDER=" + folder, "PROGRAMS=" + w.programs, "KUBECONFIG=" + filepath.Join(folder, ".kubeconfig"),
		"REGISTRY=" + product.Registry, "APP=" + app,
		"GATEWAY_API=" + w.kinds}})
	var exit *host.ExitError
	if errors.As(err, &exit) {
		// the error needn't repeat the commands: they are on the page
		err = fmt.Errorf("it fails, with exit code %d", exit.Code)
	}
	return out.Stdout, err
}

// folder makes the working folder of a page's commands. It contains the chart, as a checkout does.
func (w *world) folder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	chart, err := product.Chart()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(chart), filepath.Join(folder, "charts")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Run(t.Context(), cluster.Program{
		Args: []string{"/bin/sh", "-euc", `cp "$KUBECONFIG" "$FOLDER/.kubeconfig"`},
		Env:  []string{"FOLDER=" + folder}}); err != nil {
		t.Fatal(err)
	}
	return folder
}
