package restraint

import "strings"

// gatewayMux is a mux that a Gateway owns, as the reconciler makes it.
func gatewayMux(namespace string, changes ...string) attempt {
	return attempt{as: line, do: "POST /api/v1/namespaces/" + namespace + "/services",
		body: strings.NewReplacer(changes...).Replace(`
apiVersion: v1
kind: Service
metadata:
  name: gateway-edge
  labels: {` + prefix + `/managed: "true"}
  annotations: {` + prefix + `/multiplexer: "true"}
  ownerReferences: [{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, name: edge,
    uid: 00000000-0000-0000-0000-000000000001, controller: true}]
spec: {type: LoadBalancer, ports: [{name: placeholder, port: 101}]}`)}
}

// refused returns an attempt with the message of its denial.
func refused(tried attempt, want string) attempt {
	tried.want = want
	return tried
}

func gatewayMuxAbuses() map[string]attempt {
	const create = "the reconciler may not CREATE Service team/"
	return map[string]attempt{
		"a mux of a Gateway in kube-system": refused(gatewayMux("kube-system"),
			"the reconciler may not CREATE Service kube-system/gateway-edge: there are no muxes in namespace kube-system, "+
				"unless rbac.muxNamespaces of the chart names it"),
		"a mux of no Gateway":         refused(gatewayMux("team", "kind: Gateway", "kind: Pod"), create),
		"a Service without our label": refused(gatewayMux("team", `managed: "true"`, `managed: "false"`), create),
		"a Service of a Gateway":      refused(gatewayMux("team", `multiplexer: "true"`, `multiplexer: "false"`), create),
		"a mux of a Gateway with pods": refused(gatewayMux("team", "spec: {", "spec: {selector: {app: bank}, "),
			"with a selector, external IPs"),
		"a mux of a Gateway with an IP": refused(gatewayMux("team", "spec: {", "spec: {externalIPs: [192.0.2.66], "),
			"with a selector, external IPs"),
		"a mux of a Gateway with a port": refused(gatewayMux("team", "name: placeholder", "name: https"),
			"other ports than the placeholder"),
		"the deletion of another mux": {as: line, do: "DELETE /api/v1/namespaces/team/services/mux",
			want: "it makes and deletes muxes that a Gateway owns"},
	}
}

func gatewayMuxUses() map[string]attempt {
	return map[string]attempt{"a mux of a Gateway": gatewayMux("team"),
		"a mux of a Gateway in the release's namespace": gatewayMux(namespace)}
}
