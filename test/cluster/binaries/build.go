package binaries

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// build puts p's complete build into dir, or nothing. The caller holds p's lock, so a partial folder belongs to a dead
// builder.
func (c Cache) build(ctx context.Context, p Product, dir string) error {
	partial := filepath.Join(c.Dir, "."+p.Name+".partial")
	if err := os.RemoveAll(partial); err != nil {
		return fmt.Errorf("remove the rest of an interrupted build: %w", err)
	}
	result := filepath.Join(partial, "result")
	for _, folder := range []string{partial, result, scratch(partial)} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return fmt.Errorf("make the cache folder: %w: free some space, or set %s to another folder", err, CacheVariable)
		}
	}
	defer os.RemoveAll(partial)
	done := c.Progress.Begin("building "+p.String(), "the first time takes "+p.cost+", then it is kept in "+c.Dir)
	if err := c.fill(ctx, p, result); err != nil {
		done("failed")
		return fmt.Errorf("build %s: %w", p, err)
	}
	done("done")
	return os.Rename(result, dir)
}

// scratch is the folder of go's temporary files, sometimes gigabytes. A killed build leaves them, and the next build
// removes them.
func scratch(partial string) string { return filepath.Join(partial, "scratch") }

func (c Cache) fill(ctx context.Context, p Product, dir string) error {
	if err := c.run(ctx, p, p.goArguments(p.pkg, filepath.Join(dir, p.binary))...); err != nil {
		return err
	}
	for _, pkg := range p.more {
		if err := c.run(ctx, p, p.goArguments(pkg, filepath.Join(dir, filepath.Base(pkg)))...); err != nil {
			return err
		}
	}
	for _, link := range p.links {
		if err := os.Symlink(p.binary, filepath.Join(dir, link)); err != nil {
			return err
		}
	}
	for _, copied := range p.copies {
		if err := c.copy(ctx, p, copied, dir); err != nil {
			return err
		}
	}
	return nil
}

// goArguments returns the same arguments for every user of the cache: with other flags, go would compile everything
// again. Debug information, which the linker drops, would take a sixth of the compilers' time.
func (p Product) goArguments(pkg, out string) []string {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false",
		"-ldflags", strings.Join(append([]string{"-s -w"}, p.ldflags...), " ")}
	if p.modfile != "" && p.modfile != "go.mod" {
		args = append(args, "-modfile="+p.modfile)
	}
	if p.tags != "" {
		args = append(args, "-tags="+p.tags)
	}
	return append(args, "-o", out, pkg)
}

func (c Cache) copy(ctx context.Context, p Product, what copied, dir string) error {
	cmd := c.command(ctx, p, "list", "-m", "-f", "{{.Dir}}", what.module)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("find module %s: %w", what.module, err)
	}
	from := filepath.Join(strings.TrimSpace(string(out)), what.from)
	to := filepath.Join(dir, what.to)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

func (c Cache) command(ctx context.Context, p Product, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(c.Source, p.folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off",
		"GOGC=800", // a quarter less time for at most a gigabyte more of memory
		"GOTMPDIR="+scratch(filepath.Join(c.Dir, "."+p.Name+".partial")))
	// An interrupted go command stops its compilers and tidies up. If the builder is killed, go at least starts no more
	// compilers.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return cmd
}

func (c Cache) run(ctx context.Context, p Product, args ...string) error {
	var output bytes.Buffer
	cmd := c.command(ctx, p, args...)
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted; no partial build is left, and compiled packages are kept: %w", ctx.Err())
	case strings.Contains(output.String(), "no space left on device"):
		return fmt.Errorf("the disk is full: it needs up to 10 GB in Go's caches (`go env GOCACHE GOMODCACHE`) and 3 GB for "+
			"a while in %s: free some, or point GOCACHE, GOMODCACHE and %s elsewhere\n%s",
			c.Dir, CacheVariable, tail(output.String(), 3))
	default:
		return fmt.Errorf("%w\n%s", err, tail(output.String(), 20))
	}
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
