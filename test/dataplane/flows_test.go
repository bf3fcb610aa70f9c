package dataplane

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

// testFlows has pods go that flows of datagrams are bound to: kube-proxy forgets a flow then, and binds it to another pod. A
// Service of its own is asked beside the mux, to tell what has to do with it from what hasn't.
func testFlows(t *testing.T, w *world) {
	const flows, rounds = 40, 3
	w.mux(t, "flows", annotation("port-range", "21000-21009"))
	w.Apply(t, app("coming", 6)+channel("coming", "flows", "coming", "udp:auto,tcp:auto", both()...)+fmt.Sprintf(`
---
{apiVersion: v1, kind: Service, metadata: {name: plain, namespace: %s},
 spec: {type: LoadBalancer, selector: {app: coming}, ports: [{name: udp, port: 80, targetPort: 8080, protocol: UDP}]}}`, shop))
	w.rolledOut(t, "coming")
	through := map[string]string{"the mux": w.public(t, "coming", "udp"), "a Service of its own": at(w.address(t, shop, "plain"), 80)}
	var streams []packets.Stream
	for name, address := range through {
		w.answers(t, w.Outside(), packets.UDP, address, ofApp("coming"))
		for range flows {
			streams = append(streams, packets.Stream{Name: name, Kind: packets.Datagrams, Address: address, Right: ofApp("coming")})
		}
	}
	load := packets.Start(t.Context(), w.Outside(), streams...)
	defer load.End()
	for range rounds {
		for _, replicas := range []int{1, 6} {
			w.Kubectl(t, "scale", "deployment/coming", fmt.Sprintf("--replicas=%d", replicas), "--namespace="+shop)
			w.rolledOut(t, "coming")
			time.Sleep(12 * time.Second)
		}
	}
	asked, lost := map[string]int{}, map[string]int{}
	for _, count := range load.Take() {
		asked[count.Stream.Name] += count.Asked
		lost[count.Stream.Name] += len(count.Lost)
		if len(count.Lost) > 0 {
			t.Logf("%s: %s", count.Stream.Name, strings.Join(count.Lost, "; "))
		}
	}
	for name := range through {
		t.Logf("through %s: %d asked, %d lost", name, asked[name], lost[name])
		if asked[name] == 0 || lost[name] > 0 {
			t.Errorf("through %s, %d of %d are lost", name, lost[name], asked[name])
		}
	}
}
