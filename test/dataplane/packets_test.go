package dataplane

import (
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/long"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// TestPackets runs the stories once per mode of kube-proxy. With gateways, the nodes carry the muxes' addresses in
// place of the provider.
func TestPackets(t *testing.T) {
	for mode, begin := range map[string]func(*testing.T) *world{
		"nftables": func(t *testing.T) *world { return start(t) },
		"iptables": func(t *testing.T) *world {
			long.Only(t, "the mode nftables; in test/e2e/life, kube-proxy programs iptables under traffic")
			return start(t, cluster.IPTables())
		},
		"gateways": func(t *testing.T) *world {
			long.Only(t, "test/e2e/gateways asks the channels of a mux on gateways, and balancer counts lost connections")
			return startGateways(t)
		},
		"gateways beside iptables": func(t *testing.T) *world {
			long.Only(t, "the mode nftables shows that kube-proxy's rules come after ours")
			return startGateways(t, cluster.IPTables())
		},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			for _, story := range stories() {
				if story.cloud && w.class != "" {
					continue
				}
				if story.long && !long.Runs() {
					t.Logf("NOT COVERED: %s; LONG=1 go test ./test/dataplane", story.name)
					continue
				}
				if !t.Run(story.name, func(t *testing.T) { story.run(t, w) }) {
					t.FailNow() // leftovers would fail the other stories with misleading messages
				}
			}
		})
	}
}

type story struct {
	name string
	long bool // too long for every run
	// cloud stories need the load balancers of a provider, so they don't run with gateways.
	cloud bool
	run   func(*testing.T, *world)
}

func stories() []story {
	return []story{
		{name: "a hundred channels, each answered by its own pod", run: testHundred},
		{name: "a full mux of GKE's refuses the next channel", long: true, cloud: true, run: testFull},
		{name: "protocols, families, and ports of all kinds", run: testKinds},
		{name: "two channels with one number of their own", run: testNoHijack},
		{name: "the policy Local, and the client's address", cloud: true, run: testLocal},
		{name: "a pod's readiness", run: testReadiness},
		{name: "a deleted channel", run: testDeleted},
		{name: "no request is lost", run: testNoneLost},
		{name: "an import from ingress-nginx", run: testImport},
		// it compares with a Service that has a load balancer of its own
		{name: "flows of datagrams move", long: true, cloud: true, run: testFlows},
		// This story must be last: it stops the reconcilers.
		{name: "without ipMode Proxy, a channel takes the mux's traffic", cloud: true, run: testHijack},
	}
}
