package validate

import (
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/validation"
)

const (
	kindService    = "Service"
	kindConfigMap  = "ConfigMap"
	versionService = "v1"
)

// object is a Service or a route before it is decoded.
type object struct {
	fields map[string]any
	at     place
}

// nearService is an object that was probably meant to be a Service, and the mistake in its kind or apiVersion.
type nearService struct {
	object
	mistake validation.Problem
}

// finder collects the Services, routes and ConfigMaps of documents, lists included.
type finder struct {
	services     []object
	routes       []object
	nearServices []nearService
	configMaps   []object
}

// find examines an object, or the items of a list. Items without apiVersion and kind take the list's. A kind that ends
// in "List" is a list, whatever its group: kubectl applies the items of any such kind, such as List, ServiceList, or
// the ResourceList of a KRM function.
func (f *finder) find(value any, at place, version, kind string) {
	fields, ok := value.(map[string]any)
	if !ok {
		return
	}
	if v, set := fields["apiVersion"].(string); set {
		version = v
	}
	if k, set := fields["kind"].(string); set {
		kind = k
	}
	switch {
	case isList(kind):
		f.items(fields, at, version, kind)
	case version == versionService && kind == kindService:
		fields["apiVersion"], fields["kind"] = version, kind
		f.services = append(f.services, object{fields, at})
	case isRoute(version, kind):
		fields["apiVersion"], fields["kind"] = version, kind
		f.routes = append(f.routes, object{fields, at})
	case version == versionService && kind == kindConfigMap:
		f.configMaps = append(f.configMaps, object{fields, at})
	case isNearlyService(kind) && isKubernetes(version):
		f.nearServices = append(f.nearServices, nearService{object{fields, at}, unknownKind(version, kind)})
	}
}

func (f *finder) items(fields map[string]any, at place, version, kind string) {
	if kind = kind[:len(kind)-len("List")]; kind == "" {
		version = "" // a plain List's version isn't its items' version
	}
	items, _ := fields["items"].([]any)
	list, _ := at.child("items")
	for i, item := range items {
		below, _ := list.item(i)
		f.find(item, below, version, kind)
	}
}

// mayHold says that find examines this kind.
func mayHold(kind string) bool {
	return isList(kind) || isNearlyService(kind) || kind == read.TCPRoute || kind == read.UDPRoute
}

// isRoute says that the object is a TCPRoute or a UDPRoute in the version that is judged.
func isRoute(version, kind string) bool {
	return version == gatewayv1.GroupVersion.String() && (kind == read.TCPRoute || kind == read.UDPRoute)
}

func isList(kind string) bool { return strings.HasSuffix(strings.ToLower(kind), "list") }

// isNearlyService says that the kind is Service, or looks like a misspelled one.
func isNearlyService(kind string) bool {
	return validation.Nearest(strings.ToLower(kind), []string{"service"}) != ""
}

// isKubernetes says that the version belongs to Kubernetes: the group of a custom resource has a dot.
func isKubernetes(version string) bool {
	group, _, grouped := strings.Cut(version, "/")
	return !grouped || !strings.Contains(group, ".")
}

func unknownKind(version, kind string) validation.Problem {
	field, value := "kind", kind
	if kind == kindService {
		field, value = "apiVersion", version
	}
	return validation.Problem{
		Reason: UnknownKind, Field: field, Value: value,
		Message: fmt.Sprintf(
			"%s: Kubernetes has no %s of apiVersion %s, so this isn't judged: write apiVersion: %s, kind: %s",
			field, shown(kind), shown(version), versionService, kindService),
	}
}
