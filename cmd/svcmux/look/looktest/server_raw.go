package looktest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// rawKinds are the kinds that are answered as they are in the file. A cluster without an object of a custom kind
// doesn't know the kind.
func rawKinds(resource string) string {
	return map[string]string{
		"validatingwebhookconfigurations": "ValidatingWebhookConfiguration", "leases": "Lease", "certificates": "Certificate",
		"prometheusrules": "PrometheusRule", "daemonsets": "DaemonSet", "nodes": "Node",
		"gateways": "Gateway", "listenersets": "ListenerSet", "tcproutes": "TCPRoute", "udproutes": "UDPRoute",
		"namespaces":     "Namespace",
		"gatewayclasses": "GatewayClass", "referencegrants": "ReferenceGrant",
	}[resource]
}

func isOfGatewayAPI(kind string) bool {
	return slices.Contains([]string{"GatewayClass", "Gateway", "ListenerSet", "TCPRoute", "UDPRoute", "ReferenceGrant"},
		kind)
}

func isCustom(kind string) bool {
	return kind == "Certificate" || kind == "PrometheusRule" || isOfGatewayAPI(kind)
}

// raw answers requests for kinds that this program reads as JSON. For other kinds, it returns false.
func (s *Server) raw(w http.ResponseWriter, r *http.Request, ask request) bool {
	var answer any
	switch kind := rawKinds(ask.resource); {
	case ask.resource == "version":
		answer = map[string]any{"major": "1", "minor": s.Minor, "gitVersion": "v1." + s.Minor + ".0"}
	case ask.resource == "subjectaccessreviews":
		answer = map[string]any{"status": map[string]any{"allowed": s.allows(r)}}
	case ask.resource == "" && slices.ContainsFunc(s.cluster.order, func(at key) bool { return isOfGatewayAPI(at.kind) }):
		answer = map[string]any{"kind": "APIResourceList", "groupVersion": "gateway.networking.k8s.io/v1"}
	case kind != "" && ask.name == "":
		items, isKnown := []any{}, !isCustom(kind)
		for _, at := range s.cluster.order {
			if at.kind != kind || s.cluster.objects[at] == nil {
				continue
			}
			if isKnown = true; ask.namespace == "" || at.Namespace == ask.namespace {
				items = append(items, s.cluster.objects[at])
			}
		}
		if !isKnown {
			return false
		}
		answer = pageOf(items, kind, r)
	case kind != "":
		for at, object := range s.cluster.objects {
			if at.kind == kind && at.Namespace == ask.namespace && at.Name == ask.name {
				answer = object
			}
		}
	}
	if answer == nil {
		return false
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.cluster.t.Error(err)
	}
	return true
}

// pageOf returns the page of a list that a request asks for with limit and continue.
func pageOf(items []any, kind string, r *http.Request) map[string]any {
	begin, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	metadata, end := map[string]any{}, len(items)
	if limit > 0 && begin+limit < end {
		end = begin + limit
		metadata["continue"] = strconv.Itoa(end)
	}
	return map[string]any{"kind": kind + "List", "apiVersion": "v1", "metadata": metadata, "items": items[begin:end]}
}

// allows answers a SubjectAccessReview: the chart's parts have the chart's rights, except for Denied. Excessive gives
// the reconciler more.
func (s *Server) allows(r *http.Request) bool {
	var review struct {
		Spec struct {
			User               string
			ResourceAttributes struct{ Verb, Resource, Subresource string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		s.cluster.t.Error(err)
	}
	asked := review.Spec.ResourceAttributes
	right := strings.Trim(asked.Verb+" "+asked.Resource+"/"+asked.Subresource, "/")
	if strings.HasSuffix(review.Spec.User, "webhook") {
		return (right == "list services" || right == "watch services") && "webhook: "+right != s.Denied
	}
	switch right {
	case "list secrets", "create pods", "delete services", "create services", "create clusterrolebindings":
		return s.Excessive
	case s.Denied:
		return false
	}
	return true
}
