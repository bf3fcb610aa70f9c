package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

func TestWarmStart(t *testing.T) {
	begun := time.Now()
	c := Start(t)
	createService(t, c, "first")
	t.Logf("from nothing to a first Service: %.1f s", time.Since(begun).Seconds())
}
