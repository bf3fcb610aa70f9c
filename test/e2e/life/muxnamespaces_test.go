package life

import (
	"fmt"
	"testing"

	"nowake.ai/svc-lb-mux/test/product"
)

// testMuxNamespaces removes a mux's namespace from those that the reconciler serves, and adds it again. No channel
// there loses its port, and no request is lost.
func testMuxNamespaces(t *testing.T, w *world, main product.Helm) {
	const away, class = "away", prefix + "/edge.away"
	w.namespace(t, away)
	w.Apply(t, fmt.Sprintf(
		`{apiVersion: v1, kind: Service, metadata: {name: edge, namespace: %s, annotations: {%s/multiplexer: "true",
		%[2]s/port-range: 30000-30009}}, spec: {type: LoadBalancer, ports: [{name: placeholder, port: 101}]}}`, away, prefix))
	w.Apply(t, channel("guest", class, "auto"))
	w.gets(t, "guest", "http:80->30000")
	traffic := w.ask(t, fmt.Sprintf("http://%s:30000", w.address(t, away, "edge")), w.urls(t)[0])
	there, here := w.holds(t, away, "edge", "30000/TCP"), w.holds(t, main.Namespace, "mux", ports()...)
	thereLed, hereLed := w.leads(t, away, "edge", w.nameOf(t, away, "edge", 30000)), w.leads(t, main.Namespace, "mux",
		muxNames()...)

	narrow := main
	narrow.Values = []string{"rbac.muxNamespaces={" + main.Namespace + "}", "restraint.enabled=false"}
	w.install(t, narrow)
	w.withWideRights(t, main.Namespace, func() {
		w.Kubectl(t, "label", "service", "guest", "--namespace="+shop, "changed=true")
		w.Apply(t, channel("meanwhile", class, "auto"))
		w.Apply(t, channel("local", prefix+"/mux", "auto"))
		w.gets(t, "local", "http:80->20000")
	})
	if got := w.service(t, shop, "meanwhile").Annotations[prefix+"/ports"]; got != "" {
		t.Errorf("a reconciler of the namespace %s gives %q in %s", main.Namespace, got, away)
	}
	w.gets(t, "guest", "http:80->30000")

	w.install(t, main)
	w.gets(t, "meanwhile", "http:80->30001")
	w.gets(t, "guest", "http:80->30000")
	traffic.end(t)
	for _, h := range []*history{there, here, thereLed, hereLed} {
		h.end(t)
	}
	w.Kubectl(t, "delete", "service", "guest", "meanwhile", "local", "--namespace="+shop)
	w.Kubectl(t, "delete", "namespace", away, "--timeout=60s")
}

// withWideRights creates the situation during an upgrade: a reconciler of some namespaces briefly has the rights of one
// of all namespaces. Helm writes new roles before it replaces pods, and deletes old roles afterwards.
func (w *world) withWideRights(t *testing.T, namespace string, do func()) {
	t.Helper()
	w.Kubectl(t, "create", "clusterrolebinding", "for-a-moment", "--clusterrole=cluster-admin",
		"--serviceaccount="+namespace+":svc-mux")
	do()
	w.Kubectl(t, "delete", "clusterrolebinding", "for-a-moment")
}

// nameOf returns the name of a mux's port.
func (w *world) nameOf(t *testing.T, namespace, mux string, number int32) string {
	t.Helper()
	svc := w.service(t, namespace, mux)
	for i := range svc.Spec.Ports {
		if svc.Spec.Ports[i].Port == number {
			return svc.Spec.Ports[i].Name
		}
	}
	t.Fatalf("%s/%s has no port %d", namespace, mux, number)
	return ""
}
