package main

import (
	"fmt"
	"strings"

	"nowake.ai/svc-lb-mux/validation"
)

const (
	kindService    = "Service"
	versionService = "v1"
)

// object is a Service before it is decoded.
type object struct {
	fields map[string]any
	at     place
}

// oddity is an object that was most likely meant to be a Service, and is none.
type oddity struct {
	object
	slip validation.Problem
}

// finder gathers the Services of documents, also those in lists.
type finder struct {
	services []object
	oddities []oddity
}

// find looks at an object, or at the items of a list, which take its version and kind if they say neither. What is a
// list is decided by the end of its kind, as good as by its group: kubectl applies the items of any, be it a List, a
// ServiceList, the ResourceList of a KRM function, or one that it has never heard of.
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
	case isNearlyService(kind) && isKubernetes(version):
		f.oddities = append(f.oddities, oddity{object{fields, at}, unknownKind(version, kind)})
	}
}

func (f *finder) items(fields map[string]any, at place, version, kind string) {
	if kind = kind[:len(kind)-len("List")]; kind == "" {
		version = "" // a plain List's is its own
	}
	items, _ := fields["items"].([]any)
	list, _ := at.child("items")
	for i, item := range items {
		below, _ := list.item(i)
		f.find(item, below, version, kind)
	}
}

// mayHold is true for the kinds that find looks at.
func mayHold(kind string) bool { return isList(kind) || isNearlyService(kind) }

func isList(kind string) bool { return strings.HasSuffix(strings.ToLower(kind), "list") }

// isNearlyService is true for Service, too.
func isNearlyService(kind string) bool {
	return validation.Nearest(strings.ToLower(kind), []string{"service"}) != ""
}

// isKubernetes is true for a version that nobody else can have: the group of a custom resource has a dot.
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
		Message: fmt.Sprintf("%s: Kubernetes has no %s of apiVersion %s, so this isn't judged: write apiVersion: %s, kind: %s",
			field, shown(kind), shown(version), versionService, kindService),
	}
}
