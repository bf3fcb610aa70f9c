package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// contradictions applies a repository that declares values which its annotations tell the reconciler to change. No tool
// can settle that by itself.
func (w *world) contradictions(t *testing.T) {
	for _, tool := range []struct {
		name, kind, field string
		command           string
		flags             []string
	}{
		{"flux", "Kustomization", "ignore", "flux", nil},
		{"argo", "Application", "ignoreDifferences", "argo", nil},
		{"argo-server-side", "Application", "ignoreDifferences", "argo", []string{"-server-side-apply", "-server-side-diff"}},
	} {
		t.Run(tool.name, func(t *testing.T) {
			rules := documented(t, tool.kind, tool.field)
			p := w.place(t, "contradiction-"+tool.name)
			w.contradicted(t, p, command(tool.command, tool.flags...),
				command(tool.command, append(tool.flags, "-ignore", rules)...))
		})
	}
}

func (w *world) contradicted(t *testing.T, p place, plain,
	ruled func(context.Context, *world, string, int) ([]round, error)) {
	manifests := p.manifests(t, "contradiction.yaml")
	w.apply(t, tool{apply: plain}, manifests, 1)
	w.decided(t, p)
	drift := strings.Join(w.apply(t, tool{apply: plain}, manifests, 1)[0].Drift, "\n")
	for _, fought := range []string{"placeholder\")", "chat.example.com,mux.example.com"} {
		if !strings.Contains(drift, fought) {
			t.Errorf("no drift of %s without the ignore rule: the docs' rule is outdated\n%s", fought, drift)
		}
	}
	w.decided(t, p)
	for i, this := range w.apply(t, tool{apply: ruled}, manifests, 10) {
		if err := this.quiet(); err != nil {
			t.Errorf("with the rule, reconciliation %d: %v", i+1, err)
		}
	}
	w.decided(t, p)
}

// decided waits until the reconciler has changed the mux as its annotations say.
func (w *world) decided(t *testing.T, p place) {
	t.Helper()
	w.rested(t, p)
	cluster.Eventually(t, "the mux is as its annotation and its channel want it", func(ctx context.Context) error {
		const names = `{.spec.ports[*].port} {.metadata.annotations.external-dns\.alpha\.kubernetes\.io/hostname}`
		out, err := w.TryKubectl(ctx, "", "get", "service/mux", "--namespace="+p.infra, "-o", "jsonpath="+names)
		if err == nil && out.Stdout != "6667 chat.example.com,mux.example.com" {
			err = fmt.Errorf("it is %q", out.Stdout)
		}
		return err
	})
}

// documented returns the rule that docs/gitops.md shows, from the spec of the shown object.
func documented(t *testing.T, kind, field string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "gitops.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		var object struct {
			Kind string         `json:"kind"`
			Spec map[string]any `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind != kind || object.Spec[field] == nil {
			continue
		}
		rules, err := yaml.Marshal(object.Spec[field])
		if err != nil {
			t.Fatal(err)
		}
		return string(rules)
	}
	t.Fatalf("docs/gitops.md shows no %s with %s", kind, field)
	return ""
}
