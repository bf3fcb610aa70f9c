package dataplane

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

// testFlows removes pods to which flows of datagrams are bound. kube-proxy then drops the flow and binds it to another
// pod. The pods delay their answers, so that answers are under way. A Service with its own load balancer gets the same
// requests, to distinguish effects of the mux from effects of kube-proxy.
func testFlows(t *testing.T, w *world) {
	const flows, rounds = 40, 3
	w.mux(t, "flows", annotation("port-range", "21000-21009"))
	w.Apply(t, slow(app("coming", 6))+channel("coming", "flows", "coming", "udp:auto,tcp:auto", both()...)+fmt.Sprintf(`
---
{apiVersion: v1, kind: Service, metadata: {name: plain, namespace: %s},
spec: {type: LoadBalancer, selector: {app: coming},
	ports: [{name: udp, port: 80, targetPort: 8080, protocol: UDP}]}}`, shop))
	w.rolledOut(t, "coming")
	through := map[string]string{"the mux": w.public(t, "coming", "udp"),
		"a Service of its own": at(w.address(t, shop, "plain"), 80)}
	var streams []packets.Stream
	for name, address := range through {
		w.answers(t, w.Outside(), packets.UDP, address, ofApp("coming"))
		for range flows {
			streams = append(streams,
				packets.Stream{Name: name, Kind: packets.Datagrams, Address: address, Right: ofApp("coming")})
		}
	}
	load := packets.Start(t.Context(), w.Outside(), streams...)
	defer load.End()
	for range rounds {
		for _, replicas := range []int{1, 6} {
			w.Kubectl(t, "scale", "deployment/coming", fmt.Sprintf("--replicas=%d", replicas), "--namespace="+shop)
			w.rolledOut(t, "coming")
			w.onlyReadyPods(t, "coming")
		}
	}
	time.Sleep(packets.Patience) // until the last request times out
	counts, ended := load.Take(), w.farewells.toldToEnd()
	for name := range through {
		asked, moved := 0, 0
		for _, count := range counts {
			if count.Stream.Name == name {
				asked += count.Asked
				lost := check(t, []packets.Count{count}, ended, new(cluster.Allowances))
				moved += lost
			}
		}
		if asked == 0 {
			t.Errorf("through %s: no datagram was sent", name)
		}
		t.Logf("through %s: %d asked, %d lost as their flows moved", name, asked, moved)
	}
}

// slow changes an app so that it answers each datagram after the interval between two datagrams.
func slow(app string) string { return strings.Replace(app, "args: [serve]", "args: [serve, 20ms]", 1) }
