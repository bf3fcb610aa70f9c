// Package backends runs reconciler/backends against a real API server, with the real mirroring controller and
// kube-proxy. A stub provides the claims.
package backends

import (
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/validation"
)

func TestMain(m *testing.M) { cluster.Main(m) }

const (
	muxes    = "svc-mux" // the namespace of muxes
	app      = "app"     // the namespace of channels
	prefix   = validation.DefaultPrefix
	userName = "system:serviceaccount:svc-mux:svc-mux"
)

// world is the cluster that all tests of the package share.
type world struct{ *cluster.Cluster }

func TestBackends(t *testing.T) {
	w := world{cluster.Start(t, cluster.WithProvider())}
	for _, name := range []string{muxes, app} {
		w.Kubectl(t, "create", "namespace", name)
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, world)
	}{
		{"packets reach the pod", packets},
		{"a pod's readiness costs one write and no read", readiness},
		{"endpoints that arrive before their channel are carried", endpointsFirst},
		{"an endpoint port without a name stops nothing", unnamedPort},
		{"deleted Endpoints of a channel leave the mux", deletedEndpoints},
		{"pods' slices from Kubernetes' controller are carried", realPods},
		{"hand-written slices are carried as they are", handWritten},
		{"1,200 endpoints are two slices", twelveHundred},
		{"a mux carries only its own families", families},
		{"a claim's new name is one update", renamed},
		{"a renamed port of a channel keeps its backends", renamedPort},
		{"foreign slices with our labels are ignored", forgedSlices},
		{"slices without a decision stay", undecided},
		{"the slices of a deleted channel are deleted", channelGoes},
		{"a recreated mux has its backends again", muxComesBack},
		{"drift of a slice is corrected", drift},
		{"a slice that others deleted is restored", deletedByHand},
		{"repeated drift slows corrections down and causes one Event", fights},
		{"a foreign slice isn't changed", notOurs},
		{"a stale cache causes no second write", oldCache},
		{"a write conflict is retried", conflict},
		{"a lost answer causes no second slice", lostAnswer},
		{"a refused slice doesn't block others", refused},
		{"a restart writes nothing", restart},
		{"metrics of a deleted mux are deleted", series},
		{"the original's Endpoints are taken over without a gap", takeover},
		{"the original's Endpoints stay while they are the only backends", takeoverWaits},
	} {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, w) }) {
			t.Log("the controller's log:\n" + lastLog())
		}
	}
}
