// Package backends runs the line of that name against a real API server, with the real mirroring controller and
// kube-proxy behind it. Who holds which port is told by a stub.
package backends

import (
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/validation"
)

func TestMain(m *testing.M) { cluster.Main(m) }

const (
	muxes    = "svc-mux" // the namespace of muxes
	app      = "app"     // and of channels
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
		{"pods that Kubernetes knows are carried", realPods},
		{"hand-written slices are carried as they are", handWritten},
		{"1,200 endpoints are two slices", twelveHundred},
		{"a mux has the families that it has", families},
		{"a claim's new name is one update", renamed},
		{"a channel's port that is renamed keeps its backends", renamedPort},
		{"slices that others gave our labels are in no pass", forgedSlices},
		{"what nobody has decided about stays", undecided},
		{"a channel that goes takes its slices along", channelGoes},
		{"a mux that goes and comes back has its backends again", muxComesBack},
		{"a slice that somebody changed is put right", drift},
		{"a slice that somebody deleted is back", deletedByHand},
		{"a fight is slow and told once", fights},
		{"a slice that isn't ours isn't touched", notOurs},
		{"an old cache doesn't write twice", oldCache},
		{"a conflict is no error", conflict},
		{"an answer that is lost is no second slice", lostAnswer},
		{"a slice that is refused harms only itself", refused},
		{"a restart writes nothing", restart},
		{"series go with their mux", series},
		{"the original's Endpoints are taken over without a gap", takeover},
		{"they stay for as long as they are needed", takeoverWaits},
		{"Endpoints are written on request", legacyEndpoints},
	} {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, w) }) {
			t.Log("the line said:\n" + lastLog())
		}
	}
}
