package svcmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// muxWorld is a mux with a channel of the tenant, one of another namespace, and one that is refused.
const muxWorld = `
apiVersion: v1
kind: Service
metadata:
  name: edge
  namespace: svc-mux
  labels: {tier: edge}
  annotations: {svc-mux.nowake.ai/multiplexer: "true", svc-mux.nowake.ai/provider: none,
    svc-mux.nowake.ai/port-range: 30000-30009}
spec: {type: LoadBalancer, ports: [{name: placeholder, port: 101}]}
---
apiVersion: v1
kind: Service
metadata: {name: store, namespace: shop, annotations: {svc-mux.nowake.ai/external-ports: "https:auto"}}
spec:
  type: LoadBalancer
  loadBalancerClass: svc-mux.nowake.ai/edge
  allocateLoadBalancerNodePorts: false
  selector: {app: store}
  ports: [{name: https, port: 443}]
---
apiVersion: v1
kind: Service
metadata: {name: talk, namespace: chat}
spec:
  type: LoadBalancer
  loadBalancerClass: svc-mux.nowake.ai/edge
  allocateLoadBalancerNodePorts: false
  selector: {app: talk}
  ports: [{name: xmpp, port: 5222}]
---
`

const secondTalk = `apiVersion: v1
kind: Service
metadata: {name: talk-again, namespace: shop}
spec:
  type: LoadBalancer
  loadBalancerClass: svc-mux.nowake.ai/edge
  allocateLoadBalancerNodePorts: false
  selector: {app: talk}
  ports: [{name: xmpp, port: 5222}]
`

// testMuxes runs status, ports and explain with each user's rights.
func testMuxes(t *testing.T, w *world) {
	w.Apply(t, muxWorld)
	w.Kubectl(t, "wait", "service", "talk", "--namespace=chat", "--for=condition=svc-mux.nowake.ai/Programmed",
		"--timeout=60s")
	w.Kubectl(t, "wait", "service", "store", "--namespace=shop", "--for=condition=svc-mux.nowake.ai/Programmed",
		"--timeout=60s")
	w.Apply(t, secondTalk)
	w.Kubectl(t, "wait", "service", "talk-again", "--namespace=shop", "--for=condition=svc-mux.nowake.ai/Accepted=False",
		"--timeout=60s")
	t.Run("status", func(t *testing.T) { testStatus(t, w) })
	t.Run("ports", func(t *testing.T) { testPorts(t, w) })
	t.Run("explain", func(t *testing.T) { testExplain(t, w) })
	t.Run("plan", func(t *testing.T) { testPlan(t, w) })
	t.Run("doctor", func(t *testing.T) { testDoctor(t, w) })
	t.Run("snapshot", func(t *testing.T) { testSnapshot(t, w) })
}

// settled runs a command as the administrator until it prints a line with these words: slices and conditions follow in
// seconds.
func (w *world) settled(t *testing.T, words string, args ...string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%q prints %q", args, words), func(context.Context) error {
		got := w.run(t, "", admin, args...)
		for line := range strings.Lines(got.Out) {
			if strings.Join(strings.Fields(line), " ") == words {
				return nil
			}
		}
		return errors.New(got.Out + got.Err)
	})
}

func testStatus(t *testing.T, w *world) {
	address := strings.TrimSpace(w.Kubectl(t, "get", "service", "edge", "--namespace=svc-mux",
		"--output=jsonpath={.status.loadBalancer.ingress[0].ip}"))
	w.settled(t, "svc-mux/edge "+address+" other 3/5000 9 2/3 ok -", "status", "svc-mux/edge")
	w.expect(t, "a refused channel", want{out: "refuses shop/talk-again: svcmux explain shop/talk-again tells why"},
		w.run(t, "", admin, "status", "edge"))
	w.expect(t, "by label", want{out: "svc-mux/edge\n"}, w.run(t, "", admin, "status", "-l", "tier=edge", "-o", "name"))
	w.expect(t, "muxes of a namespace's channels", want{out: "svc-mux/edge"},
		w.run(t, "", admin, "status", "-n", "chat", "-o", "name"))
	w.expect(t, "for programs", want{out: `"schema": "svc-lb-mux/status/v1"`}, w.run(t, "", admin, "status", "-o", "json"))
	w.expect(t, "an unknown mux",
		want{code: 1, err: "there is no mux svc-mux/edgy: did you mean svc-mux/edge?", silent: true},
		w.run(t, "", admin, "status", "svc-mux/edgy"))
	w.expect(t, "a channel", want{code: 1, err: "shop/store is a channel and not a mux", silent: true},
		w.run(t, "", admin, "status", "shop/store"))
	w.expect(t, "a tenant", want{out: "is shown without what you may not read: the Service svc-mux/edge (User " +
		"\"tenant\" cannot get", err: "only namespace shop is read"},
		w.run(t, "", tenant, "status", "-n", "shop"))
	w.expect(t, "a tenant for all namespaces", want{code: 1, err: `services is forbidden: User "tenant"`, silent: true},
		w.run(t, "", tenant, "status", "-A"))
	w.expect(t, "no rights", want{code: 1, err: `services is forbidden: User "nobody"`, silent: true},
		w.run(t, "", nobody, "status"))
	w.expect(t, "completion", want{out: "svc-mux/edge\n"}, w.run(t, "", admin, "__complete", "status", "svc-mux/e"))
}

func testPorts(t *testing.T, w *world) {
	w.expect(t, "a number that was asked for", want{out: "5222/TCP    chat/talk    xmpp"},
		w.run(t, "", admin, "ports", "svc-mux/edge"))
	w.expect(t, "one of the range", want{out: "svc-mux/edge:30000/TCP\n"},
		w.run(t, "", admin, "ports", "svc-mux/edge", "-o", "name"))
	w.expect(t, "free numbers", want{out: "9      30001-30009\n"}, w.run(t, "", admin, "ports", "svc-mux/edge", "--free"))
	w.expect(t, "ports of a namespace", want{out: "chat/talk"}, w.run(t, "", admin, "ports", "-n", "chat"))
	w.expect(t, "a tenant", want{out: "is shown without what you may not read: ", err: "only namespace shop is read"},
		w.run(t, "", tenant, "ports", "-n", "shop"))
	w.expect(t, "no rights", want{code: 1, err: `services is forbidden: User "nobody"`, silent: true},
		w.run(t, "", nobody, "ports"))
}

func testExplain(t *testing.T, w *world) {
	w.expect(t, "without pods", want{code: 1, out: "shop/store can't be reached: link 9 of 9 is broken, backends.\n"},
		w.run(t, "", admin, "explain", "shop/store"))
	w.expect(t, "a number", want{code: 1, out: "svc-mux/edge:5222/TCP, which is chat/talk, can't be reached"},
		w.run(t, "", admin, "explain", "edge:5222"))
	w.expect(t, "a refusal", want{code: 1, out: "X  claim      MuxPortConflict: "},
		w.run(t, "", admin, "explain", "shop/talk-again"))
	w.expect(t, "a free number", want{code: 1, out: "no channel has 444/TCP: it is free"},
		w.run(t, "", admin, "explain", "edge:444"))
	w.expect(t, "no such Service", want{code: 1, out: "there is no Service shop/nix"},
		w.run(t, "", admin, "explain", "shop/nix"))
	w.expect(t, "a tenant", want{code: 1, out: "?  mux        it can't be read"},
		w.run(t, "", tenant, "explain", "shop/store"))
	w.expect(t, "a tenant's refusal", want{code: 1, out: "X  claim      MuxPortConflict: "},
		w.run(t, "", tenant, "explain", "shop/talk-again"))
	w.expect(t, "another's Service", want{code: 1, err: `services is forbidden: User "tenant" cannot list`, silent: true},
		w.run(t, "", tenant, "explain", "chat/talk"))
	w.expect(t, "no rights", want{code: 1, err: `services is forbidden: User "nobody"`, silent: true},
		w.run(t, "", nobody, "explain", "shop/store"))
}
