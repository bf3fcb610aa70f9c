package product

import (
	"context"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// Release and Namespace are the release's name and namespace that Install uses.
const (
	Release   = "svc-mux"
	Namespace = "svc-mux"
)

// Helm describes a run of Helm that installs or upgrades a release and waits until its pods are ready.
type Helm struct {
	Release, Namespace string
	Program            string   // path of helm; the cluster's own if empty
	Chart              string   // a folder or a package; this tree's chart if empty
	Version            string   // tag of the images; Version if empty
	Values             []string // values as for --set: "webhook.replicas=1"
	Args               []string // more flags, such as --values=FILE
	// Validated lets Helm check the objects against the API server's schemas, as users' installs do. That takes up to half
	// of the processor time of an install, so only test/e2e/install does it. A field that no schema has fails test/chart,
	// without a cluster.
	Validated bool
}

// Install installs this tree's chart with the images of Archives, or upgrades to it, and returns helm's output.
func Install(t testing.TB, c *cluster.Cluster, values ...string) string {
	t.Helper()
	out, err := Helm{Release: Release, Namespace: Namespace, Values: values}.Install(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Install installs or upgrades the release, and returns helm's output. It is for programs, and for tests with other
// releases.
func (h Helm) Install(ctx context.Context, c *cluster.Cluster) (string, error) {
	chart, err := Chart()
	if err != nil {
		return "", err
	}
	if h.Chart != "" {
		chart = h.Chart
	}
	version := Version
	if h.Version != "" {
		version = h.Version
	}
	args := []string{"upgrade", "--install", h.Release, chart, "--namespace=" + h.Namespace, "--create-namespace",
		"--wait", "--timeout=180s", "--set=images.registry=" + Registry, "--set=images.pullPolicy=Never",
		"--set=images.webhook.tag=" + version, "--set=images.reconciler.tag=" + version}
	for _, value := range h.Values {
		args = append(args, "--set="+value)
	}
	args = append(args, h.Args...)
	if !h.Validated {
		args = append(args, "--disable-openapi-validation")
	}
	if h.Program != "" {
		out, err := c.Run(ctx, cluster.Program{Args: append([]string{h.Program}, args...)})
		return out.Stdout, err
	}
	out, err := c.TryHelm(ctx, args...)
	return out.Stdout, err
}

// Uninstall removes the release that Install installed, and waits until its objects are gone.
func Uninstall(t testing.TB, c *cluster.Cluster) string {
	t.Helper()
	return c.Helm(t, "uninstall", Release, "--namespace="+Namespace, "--wait", "--timeout=120s")
}
