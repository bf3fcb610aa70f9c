package gitops

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// tool applies manifests as its users do.
type tool struct {
	name string
	// agent is the start of the tool's user agent.
	agent string
	// writes is true if the tool sends an apply although nothing differs. The API server must then find nothing to
	// change.
	writes bool
	// slow is true if a reconciliation takes seconds, because the tool reads the API's schema for every object.
	slow bool
	// looks is the tool's message if a change is refused while it compares, before any write. looksAtNew is the same
	// for a new object.
	looks, looksAtNew string
	// long is true for a tool that only make long runs.
	long bool
	// apply reconciles the given number of times, and returns each result.
	apply func(ctx context.Context, w *world, manifests string, times int) ([]round, error)
}

// round is the result of a reconciliation.
type round struct {
	Drift   []string          // differences that the tool found
	Applied []string          // changes that the tool reports
	Health  map[string]string // by kind, namespace and name, if the tool judges health
	Error   string
}

func tools() []tool {
	return []tool{
		{name: "kubectl-apply", agent: "kubectl", apply: kubectl(), writes: true, slow: true},
		{name: "kubectl-server-side", agent: "kubectl", apply: kubectl("--server-side"), writes: true, long: true},
		{name: "helm3", agent: "Helm", apply: helm("helm3", "helm"), writes: true},
		{name: "helm4", agent: "Helm", apply: helm("helm4", "helm4"), writes: true},
		{name: "flux", agent: "flux", apply: command("flux"), looks: "dry-run failed", looksAtNew: "dry-run failed"},
		{name: "argo", agent: "argo", apply: command("argo")},
		{name: "argo-server-side-diff", agent: "argo", apply: command("argo", "-server-side-diff"),
			looks: "error calculating server side diff", long: true},
		{name: "argo-server-side-apply", agent: "argo", apply: command("argo", "-server-side-apply"), long: true},
		{name: "argo-server-side", agent: "argo", apply: command("argo", "-server-side-apply", "-server-side-diff"),
			looks: "error calculating server side diff", long: true},
	}
}

func toolNamed(t *testing.T, name string) tool {
	t.Helper()
	for _, tool := range tools() {
		if tool.name == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %q", name)
	return tool{}
}

// command runs a command of this folder.
func command(name string, flags ...string) func(context.Context, *world, string, int) ([]round, error) {
	return func(ctx context.Context, w *world, manifests string, times int) ([]round, error) {
		args := append([]string{filepath.Join(w.bin[name], name), "-times", strconv.Itoa(times)}, flags...)
		out, err := w.Run(ctx, cluster.Program{Args: args, Stdin: manifests})
		if err != nil {
			return nil, err
		}
		var rounds []round
		return rounds, json.Unmarshal([]byte(out.Stdout), &rounds)
	}
}

// kubectl runs `kubectl diff` and `kubectl apply`.
func kubectl(flags ...string) func(context.Context, *world, string, int) ([]round, error) {
	return func(ctx context.Context, w *world, manifests string, times int) (rounds []round, err error) {
		for range times {
			var this round
			out, err := w.TryKubectl(ctx, manifests, append([]string{"diff", "-f", "-"}, flags...)...)
			switch {
			case out.Stdout != "":
				this.Drift = []string{out.Stdout}
			case err != nil:
				this.Error = err.Error()
			}
			out, err = w.TryKubectl(ctx, manifests, append([]string{"apply", "-f", "-"}, flags...)...)
			if err != nil {
				this.Error += err.Error()
			}
			for line := range strings.Lines(out.Stdout) {
				if line = strings.TrimSpace(line); !strings.HasSuffix(line, " unchanged") &&
					!strings.HasSuffix(line, " serverside-applied") {
					this.Applied = append(this.Applied, line)
				}
			}
			rounds = append(rounds, this)
		}
		return rounds, nil
	}
}

// helm upgrades a release of a chart whose templates are the manifests.
func helm(product, binary string) func(context.Context, *world, string, int) ([]round, error) {
	return func(ctx context.Context, w *world, manifests string, times int) (rounds []round, err error) {
		chart, err := os.MkdirTemp("", "gitops-chart-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(chart)
		for file, text := range map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: apps\nversion: 1.0.0\n", "templates/all.yaml": manifests,
		} {
			path := filepath.Join(chart, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return nil, err
			}
		}
		for range times {
			this := round{}
			_, err := w.Run(ctx, cluster.Program{Args: []string{filepath.Join(w.bin[product], binary),
				"upgrade", "--install", product, chart, "--namespace=" + namespace}})
			if err != nil {
				this.Error = err.Error()
			}
			rounds = append(rounds, this)
		}
		return rounds, nil
	}
}

// apply reconciles the given number of times, and fails the test on an error.
func (w *world) apply(t *testing.T, tool tool, manifests string, times int) []round {
	t.Helper()
	rounds, err := tool.apply(t.Context(), w, manifests, times)
	if err != nil {
		t.Fatal(err)
	}
	if len(rounds) != times {
		t.Fatalf("want %d reconciliations, got %d", times, len(rounds))
	}
	for i, this := range rounds {
		if this.Error != "" {
			t.Fatalf("reconciliation %d: %s", i+1, this.Error)
		}
	}
	return rounds
}

func (r round) quiet() error {
	if len(r.Drift)+len(r.Applied) > 0 || r.Error != "" {
		return fmt.Errorf("drift:\n%s\napplied: %q; error: %q", strings.Join(r.Drift, "\n"), r.Applied, r.Error)
	}
	return nil
}
