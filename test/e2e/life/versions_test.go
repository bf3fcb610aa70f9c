package life

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/test/product"
)

// olderChart packages this tree's chart under a lower version.
func olderChart(t *testing.T, w *world) string {
	t.Helper()
	chart, err := product.Chart()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w.Helm(t, "package", chart, "--version=0.1.99", "--app-version="+older, "--destination="+dir)
	packages, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("packages: %v, %v", packages, err)
	}
	return packages[0]
}

// testVersions upgrades from the older build to the newer one, rolls back, and upgrades again. Under each build a
// channel is created, and another one deleted.
func testVersions(t *testing.T, w *world, main product.Helm) {
	traffic := w.ask(t, w.urls(t)...)
	pods, images := w.images(t, main.Namespace, selector)
	held, led := w.holds(t, main.Namespace, "mux", ports()...), w.leads(t, main.Namespace, "mux", muxNames()...)
	class := prefix + "/mux"

	w.Apply(t, channel("one", class, "auto"))
	w.gets(t, "one", "http:80->20000")
	w.install(t, main)
	w.refuses(t, class)
	w.Apply(t, channel("two", class, "auto"))
	w.gets(t, "two", "http:80->20001")
	w.Kubectl(t, "delete", "service", "one", "--namespace="+shop)

	w.rollback(t, main, 2)
	w.Apply(t, channel("three", class, "20002"))
	w.gets(t, "three", "http:80->20002")
	w.gets(t, "two", "http:80->20001")
	w.Kubectl(t, "delete", "service", "two", "--namespace="+shop)

	w.rollback(t, main, 3)
	w.Apply(t, channel("four", class, "auto"))
	w.gets(t, "four", "http:80->20000")
	w.gets(t, "three", "http:80->20002")
	w.Kubectl(t, "delete", "service", "three", "four", "--namespace="+shop)

	traffic.end(t)
	held.end(t)
	led.end(t)
	pods.end(t)
	name := product.Registry + "/svc-lb-mux/reconciler:"
	if diff := cmp.Diff([]string{name + older, name + product.Version}, images()); diff != "" {
		t.Errorf("images that ran (-want +got):\n%s", diff)
	}
	if said := w.Helm(t, "history", main.Release, "--namespace="+main.Namespace); strings.Count(said,
		"svc-lb-mux-0.1.99") != 2 {
		t.Errorf("helm history prints\n%s", said)
	}
}

// rollback rolls back to a revision, and checks that admission is on guard.
func (w *world) rollback(t *testing.T, release product.Helm, revision int) {
	t.Helper()
	w.Helm(t, "rollback", release.Release, fmt.Sprint(revision), "--namespace="+release.Namespace, "--wait",
		"--timeout=120s")
	w.refuses(t, prefix+"/mux")
}
