package archive

import (
	"net/url"
	"slices"
	"strings"
)

// reviews is the resource with which doctor asks about rights.
const reviews = "subjectaccessreviews"

// kind is a kind that a snapshot may have. Secrets aren't among them.
type kind struct{ apiVersion, resource, name string }

func kinds() []kind {
	const gatewayAPI = "gateway.networking.k8s.io/v1"
	return []kind{
		{"v1", "configmaps", "ConfigMap"}, {"v1", "namespaces", "Namespace"}, {"v1", "nodes", "Node"},
		{"v1", "services", "Service"},
		{"admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"},
		{"apps/v1", "daemonsets", "DaemonSet"}, {"apps/v1", "deployments", "Deployment"},
		{"cert-manager.io/v1", "certificates", "Certificate"},
		{"coordination.k8s.io/v1", "leases", "Lease"},
		{"discovery.k8s.io/v1", "endpointslices", "EndpointSlice"},
		{gatewayAPI, "gatewayclasses", "GatewayClass"}, {gatewayAPI, "gateways", "Gateway"},
		{gatewayAPI, "listenersets", "ListenerSet"},
		{gatewayAPI, "referencegrants", "ReferenceGrant"}, {gatewayAPI, "tcproutes", "TCPRoute"},
		{gatewayAPI, "udproutes", "UDPRoute"},
		{"monitoring.coreos.com/v1", "prometheusrules", "PrometheusRule"},
	}
}

// kindOf returns the kind of a request; false for a kind that no snapshot has.
func (r Request) kindOf() (kind, bool) {
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.resource == r.Resource })
	if i < 0 {
		return kind{}, false
	}
	return all[i], true
}

// requestOf parses the URL of a request for objects.
func requestOf(u *url.URL) Request {
	var r Request
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		r.Group, parts = parts[1], parts[3:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		r.Namespace, parts = parts[1], parts[2:]
	}
	r.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	r.Selector = u.Query().Get("labelSelector")
	return r
}

// includes is true if a list has all that another request asks for.
func (r Request) includes(other Request) bool {
	return r.Resource == other.Resource && r.Name == "" && (r.Namespace == "" || r.Namespace == other.Namespace) &&
		(r.Selector == "" || r.Selector == other.Selector && other.Name == "")
}
