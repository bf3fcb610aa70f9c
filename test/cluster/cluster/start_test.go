package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/host"
	"nowake.ai/svc-lb-mux/test/long"
)

func TestAPIServerOnly(t *testing.T) {
	built, err := Binaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	assets := t.TempDir()
	for _, program := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := os.Symlink(filepath.Join(built["kubernetes"], program), filepath.Join(assets, program)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	t.Setenv("SVC_LB_MUX_CACHE", "/nonexistent/and/not/needed")
	c := Start(t, APIServerOnly())
	createService(t, c, "first")
	if got := c.Kubectl(t, "get", "services", "-o", "name"); !strings.Contains(got, "service/first") {
		t.Errorf("got %s", got)
	}
}

func TestStuckStartNamesItsStep(t *testing.T) {
	t.Parallel()
	h, err := host.Start()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Host: h}
	c.background, c.cancel = context.WithCancel(t.Context())
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	err = c.take(t.Context(), 100*time.Millisecond, []step{
		{"dig", func(context.Context) error { return nil }},
		{"pour concrete", func(ctx context.Context) error { return c.script(ctx, "", "sleep 98766") }},
		{"hang the doors", func(context.Context) error { t.Error("a step ran after the stuck one"); return nil }},
	})
	for _, want := range []string{"start a cluster: pour concrete: ", "sleep 98766", "a cluster must start within 100ms"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if c.background.Err() == nil {
		t.Error("the background work's context isn't cancelled")
	}
}

func TestWarmStart(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		long.Only(t, "TestControlPlane; TestWithoutRoot runs this one")
	}
	begun := time.Now()
	c := Start(t)
	createService(t, c, "first")
	t.Logf("from nothing to a first Service: %.1f s", time.Since(begun).Seconds())
}
