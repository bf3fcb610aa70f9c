// Package upgrade installs a pinned older commit with its own chart, upgrades it to this tree, and rolls back, all
// under traffic. No number may change, no request may be lost, and no limit may become looser.
//
// CI runs it with few channels, and certificates from the reconciler itself. `make long` runs it with 100 channels and
// five cycles, and once with cert-manager:
//
//	go test -count=1 ./test/e2e/upgrade -args -channels=100 -cycles=5
//	go test -count=1 ./test/e2e/upgrade -args -certs=certManager
//
// It doesn't try a channel with more than 1,000 ports or a list of ranges with more than 256 entries
// (validation/testdata/corpus has these), or `helm upgrade --reuse-values` (test/chart).
package upgrade

import (
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

func TestMain(m *testing.M) {
	flag.Int("channels", 20, "how many channels live through the upgrades")
	flag.Int("cycles", 1, "how often to upgrade and roll back before the last upgrade")
	flag.String("certs", "selfManaged", "the chart's certs.mode: selfManaged or certManager")
	cluster.Main(m)
}

// size reads a flag of TestMain's.
func size(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(flag.Lookup(name).Value.String())
	if err != nil || n < 1 {
		t.Fatalf("-%s=%s isn't 1 or more", name, flag.Lookup(name).Value)
	}
	return n
}

// TestUpgrade installs the pinned commit, upgrades to this tree, rolls back, and upgrades again.
func TestUpgrade(t *testing.T) {
	root := unpackPinned(t)
	archive, err := product.BuildTree(t.Context(), root, t.TempDir(), pinnedVersion)
	if err != nil {
		t.Fatal(err)
	}
	archives := append(product.Archives(t), archive)
	options := []cluster.Option{cluster.Nodes(1, archives...), cluster.WithProvider(), cluster.Helm()}
	if certs() == "certs.mode=certManager" {
		options = append(options, cluster.CertManager())
	}
	w := &world{Cluster: cluster.Start(t, options...)}
	t.Cleanup(func() { w.logs(t) })

	w.enter("installed from " + pinned[:7])
	old := product.Helm{Release: product.Release, Namespace: product.Namespace, Version: pinnedVersion,
		Chart: filepath.Join(root, "charts", "svc-lb-mux"), Values: []string{certs()}}
	w.install(t, old)
	w.apps(t)
	w.muxes(t, size(t, "channels"))
	all := w.channels(t, size(t, "channels"))
	w.fill(t, &all)
	w.latecomers(t)
	before := w.limits(t, pinnedVersion)
	t.Logf("limits: %v", before)

	numbers := w.watchNumbers(t, all)
	traffic := w.ask(t, all)
	look := func(version string) {
		w.settled(t, version)
		w.mayNotExceed(t, before, w.limits(t, version))
		w.refusesNewcomers(t)
		w.servesGuest(t)
		w.stand(t, all)
		traffic.check(t, w, numbers)
	}
	look(pinnedVersion)
	cycles := size(t, "cycles")
	for cycle := 1; cycle <= cycles; cycle++ {
		w.enter(fmt.Sprintf("upgrade %d", cycle))
		w.install(t, newer())
		look(product.Version)
		w.enter(fmt.Sprintf("rollback %d", cycle))
		w.Helm(t, "rollback", product.Release, "--namespace="+product.Namespace, "--wait", "--timeout=180s")
		look(pinnedVersion)
	}
	w.enter("last upgrade")
	w.install(t, newer())
	look(product.Version)
	traffic.end(t, w, numbers)
	numbers.end(t)
}

// newer is this tree's build, with the values of the older one.
func newer() product.Helm {
	return product.Helm{Release: product.Release, Namespace: product.Namespace, Values: []string{certs()}}
}

// certs returns the chart's value that -certs sets.
func certs() string { return "certs.mode=" + flag.Lookup("certs").Value.String() }
