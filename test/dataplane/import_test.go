package dataplane

import (
	"fmt"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
	"nowake.ai/svc-lb-mux/test/product"
)

// testImport turns ingress-nginx's TCP and UDP services into channels. Each number is then answered by the pods that
// ingress-nginx sent it to.
func testImport(t *testing.T, w *world) {
	w.namespaces(t, "ingress-nginx")
	w.mux(t, "imported")
	service := `
---
{apiVersion: v1, kind: Service, metadata: {name: %[1]s, namespace: %[2]s},
  spec: {selector: {app: %[1]s}, ports: [%[3]s]}}`
	w.Apply(t, app("orders", 1)+app("names", 1)+
		fmt.Sprintf(service, "orders", shop, "{name: sql, port: 5432, targetPort: 8080}")+
		fmt.Sprintf(service, "names", shop, "{name: dns-tcp, port: 53, targetPort: 8080}, {name: dns, port: 53, "+
			"targetPort: 8080, protocol: UDP}")+`
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: tcp-services, namespace: ingress-nginx},
 data: {"9000": "shop/orders:5432", "9053": "shop/names:53"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: udp-services, namespace: ingress-nginx},
  data: {"9000": "shop/names:53"}}`)
	w.rolledOut(t, "orders", "names")

	svcmux, err := product.CommandLine(t.Context(), t.TempDir(), product.Version)
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.Run(t.Context(),
		cluster.Program{Args: []string{svcmux, "import", "tcp-services", "--mux=" + edge + "/imported", "--output=yaml"}})
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.Stdout, out.Stderr)
	}
	w.Apply(t, out.Stdout)
	ip := w.address(t, edge, "imported") // IPv4, as the Services of the apps
	w.answers(t, w.Outside(), packets.HTTP, at(ip, 9000), ofApp("orders"))
	w.answers(t, w.Outside(), packets.HTTP, at(ip, 9053), ofApp("names"))
	w.answers(t, w.Outside(), packets.UDP, at(ip, 9000), ofApp("names"))
}
