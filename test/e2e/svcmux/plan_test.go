package svcmux

import (
	"strings"
	"testing"
)

// planned is a new channel with one free port of the range, and one number that talk has.
const planned = `apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop, annotations: {svc-mux.nowake.ai/external-ports: "grpc:auto"}}
spec:
  type: LoadBalancer
  loadBalancerClass: svc-mux.nowake.ai/edge
  allocateLoadBalancerNodePorts: false
  selector: {app: api}
  ports: [{name: grpc, port: 9090}]
`

const plannedTwice = planned + `---
apiVersion: v1
kind: Service
metadata: {name: talk-too, namespace: shop}
spec:
  type: LoadBalancer
  loadBalancerClass: svc-mux.nowake.ai/edge
  allocateLoadBalancerNodePorts: false
  selector: {app: talk}
  ports: [{name: xmpp, port: 5222}]
`

// testPlan predicts with each user's rights, applies, and compares.
func testPlan(t *testing.T, w *world) {
	const refused = "shop/talk-too (MuxPortConflict): "
	w.expect(t, "a refusal", want{code: 3, out: refused}, w.run(t, plannedTwice, admin, "plan", "-f", "-"))
	w.expect(t, "for a pull request", want{code: 3, out: "| **refused** | `shop/talk-too` |"},
		w.run(t, plannedTwice, admin, "plan", "-f", "-", "-o", "markdown"))
	w.expect(t, "a tenant", want{code: 2, out: "you may not read the mux", err: "only namespace shop is read"},
		w.run(t, planned, tenant, "plan", "-n", "shop", "-f", "-"))
	w.expect(t, "no rights", want{code: 1, err: `services is forbidden: User "nobody"`, silent: true},
		w.run(t, planned, nobody, "plan", "-f", "-"))
	w.expect(t, "no such file", want{code: 1, err: "no such file or directory", silent: true},
		w.run(t, "", admin, "plan", "-f", "/nix.yaml"))

	w.settledPlan(t, "given shop/api grpc 30001/TCP auto at once")
	w.Apply(t, planned)
	w.Kubectl(t, "wait", "service", "api", "--namespace=shop", "--for=condition=svc-mux.nowake.ai/Programmed",
		"--timeout=60s")
	number := w.Kubectl(t, "get", "service", "api", "--namespace=shop",
		`--output=jsonpath={.metadata.annotations.svc-mux\.nowake\.ai/ports}`)
	if number != "grpc:9090->30001" {
		t.Errorf("the prediction was 30001, and the reconciler gives %s", number)
	}
	w.expect(t, "no change", want{out: "No change.\n"}, w.run(t, planned, admin, "plan", "-f", "-"))
}

func (w *world) settledPlan(t *testing.T, words string) {
	t.Helper()
	got := w.run(t, planned, admin, "plan", "-f", "-")
	for line := range strings.Lines(got.Out) {
		if strings.Join(strings.Fields(line), " ") == words && got.Code == 2 {
			return
		}
	}
	t.Errorf("no line %q:\n%s%s", words, got.Out, got.Err)
}

// testDoctor checks an installation that is healthy, with each user's rights.
func testDoctor(t *testing.T, w *world) {
	w.settled(t, "ok rights the webhook has the rights that it needs, and no dangerous ones", "doctor")
	got := w.run(t, "", admin, "doctor")
	w.expect(t, "an administrator", want{out: ", 0 failures, "}, got)
	for _, words := range []string{"ok leader ", "ok rights the reconciler ", "ok admission ", "ok endpoints ",
		"ok certificate ", "ok server ", "ok ipMode "} {
		if !strings.Contains(strings.Join(strings.Fields(got.Out), " "), words) {
			t.Errorf("doctor doesn't print %q:\n%s", words, got.Out)
		}
	}
	w.expect(t, "for programs", want{out: `"schema": "svc-lb-mux/doctor/v1"`}, w.run(t, "", admin, "doctor", "-o", "json"))
	w.expect(t, "a tenant", want{out: "?  versions    you may not read Deployments"},
		w.run(t, "", tenant, "doctor", "-n", "shop"))
	w.expect(t, "no rights", want{out: "?  muxes       you may not read Services"}, w.run(t, "", nobody, "doctor"))
}
