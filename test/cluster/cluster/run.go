package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/host"
)

// Program is a program that runs inside of the cluster until its end.
type Program struct {
	Args  []string
	Stdin string
	Net   string   // network namespace; empty for the control plane's
	Env   []string // variables in addition to PATH, HOME and KUBECONFIG
}

// Output is a program's output.
type Output struct{ Stdout, Stderr string }

// lateGarbageCollection suits programs that live for a second: it saves a third of kubectl's processor time.
func lateGarbageCollection() []string { return []string{"GOGC=off", "GOMEMLIMIT=1GiB"} }

// Run runs a program. An error contains the program's standard error.
func (c *Cluster) Run(ctx context.Context, program Program) (Output, error) {
	stdin, feed, err := os.Pipe()
	if err != nil {
		return Output{}, err
	}
	stdout, stdoutWrite, err := os.Pipe()
	if err != nil {
		return Output{}, errors.Join(err, stdin.Close(), feed.Close())
	}
	stderr, stderrWrite, err := os.Pipe()
	if err != nil {
		return Output{}, errors.Join(err, stdin.Close(), feed.Close(), stdout.Close(), stdoutWrite.Close())
	}
	process, err := c.Host.Run(host.Command{Args: program.Args, Net: program.Net, Dir: c.Host.Dir,
		Env: c.environment(append(lateGarbageCollection(), program.Env...)), Stdin: stdin, Stdout: stdoutWrite,
		Stderr: stderrWrite})
	for _, end := range []*os.File{stdin, stdoutWrite, stderrWrite} {
		_ = end.Close() // the program has its own descriptors
	}
	var out, errOut bytes.Buffer
	var pipes sync.WaitGroup
	pipes.Go(func() { _, _ = io.WriteString(feed, program.Stdin); _ = feed.Close() })
	pipes.Go(func() { _, _ = io.Copy(&out, stdout); _ = stdout.Close() })
	pipes.Go(func() { _, _ = io.Copy(&errOut, stderr); _ = stderr.Close() })
	if err == nil {
		err = process.Wait(ctx)
	}
	// Background processes of the program may keep the pipes open for ever. Its own output is complete by now.
	for _, pipe := range []*os.File{stdout, stderr} {
		_ = pipe.SetReadDeadline(time.Now().Add(time.Second))
	}
	pipes.Wait()
	result := Output{Stdout: out.String(), Stderr: errOut.String()}
	if err != nil {
		name := strings.Join(append([]string{filepath.Base(program.Args[0])}, program.Args[1:]...), " ")
		return result, fmt.Errorf("%s: %w\n%s", name, err, strings.TrimSpace(result.Stderr))
	}
	return result, nil
}

func (c *Cluster) environment(more []string) []string {
	return append([]string{
		"PATH=" + c.BinDir() + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + c.Host.Dir, "KUBECONFIG=" + c.configs["admin"],
	}, more...)
}

// script runs shell commands in a network namespace, to set up links, addresses and kernel settings.
func (c *Cluster) script(ctx context.Context, net, text string) error {
	_, err := c.Run(ctx, Program{Args: []string{"/bin/sh", "-euc", text}, Net: net})
	return err
}

// TryKubectl runs the real kubectl as the administrator.
func (c *Cluster) TryKubectl(ctx context.Context, stdin string, args ...string) (Output, error) {
	program := append([]string{filepath.Join(c.bin["kubernetes"], "kubectl")}, args...)
	return c.Run(ctx, Program{Args: program, Stdin: stdin})
}

// Kubectl runs the real kubectl as the administrator, and fails the test if that fails.
func (c *Cluster) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	return c.kubectl(t, "", args...)
}

// kubectl retries if the API server reports that a webhook timed out: a machine that stands still for some seconds
// causes that.
func (c *Cluster) kubectl(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	const tries = 3
	for try := 1; ; try++ {
		out, err := c.TryKubectl(t.Context(), stdin, args...)
		if err == nil {
			return out.Stdout
		}
		late := strings.Contains(out.Stderr, "failed calling webhook") && strings.Contains(out.Stderr, "deadline exceeded")
		if !late || try == tries {
			t.Fatal(err)
		}
		t.Logf("retried: %v", err)
	}
}

// Forward runs kubectl port-forward until the test ends. Clients of c.Inside() reach the forwarded ports.
func (c *Cluster) Forward(t testing.TB, args ...string) {
	t.Helper()
	forward, err := c.Host.Run(host.Command{Env: c.environment(nil),
		Args: append([]string{filepath.Join(c.BinDir(), "kubectl"), "port-forward"}, args...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		const terminate = 15
		if err := forward.Signal(terminate); err != nil {
			t.Error(err)
		}
	})
}

// TryHelm runs the real helm as the administrator.
func (c *Cluster) TryHelm(ctx context.Context, args ...string) (Output, error) {
	if c.bin["helm3"] == "" {
		return Output{}, errors.New("no helm here: start the cluster with cluster.Helm()")
	}
	return c.Run(ctx, Program{Args: append([]string{filepath.Join(c.BinDir(), "helm")}, args...)})
}

// Helm runs the real helm as the administrator, and fails the test if that fails.
func (c *Cluster) Helm(t testing.TB, args ...string) string {
	t.Helper()
	out, err := c.TryHelm(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out.Stdout
}

// Apply applies manifests with the real kubectl, and fails the test if that fails.
func (c *Cluster) Apply(t testing.TB, manifests string) {
	t.Helper()
	c.kubectl(t, manifests, "apply", "-f", "-")
}

// patience is a generous timeout for steps that take seconds, so that a busy machine fails no test.
const patience = 2 * time.Minute

// Eventually waits until a condition holds. After a timeout, it fails the test with the condition's last error.
func Eventually(t testing.TB, what string, ok func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for pause := 25 * time.Millisecond; ; pause = min(pause*5/4, slowest) {
		began := time.Now()
		err := ok(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not after %s: %v", what, patience, err)
		case <-time.After(max(pause, 2*time.Since(began))):
		}
	}
}

// slowest is the longest interval between cheap checks of a slow condition. Each check costs time of this test's
// cluster, and of others. So a check that takes long, such as one that runs a program, is repeated less often.
const slowest = 250 * time.Millisecond
