package main

// The kinds that hold Services, all of apiVersion v1.
const (
	kindService     = "Service"
	kindList        = "List"
	kindServiceList = "ServiceList"
)

// object is a Service before it is decoded.
type object struct {
	fields map[string]any
	at     place
}

// services returns the Services of a document, also those in Lists.
func services(doc document) []object {
	return servicesIn(doc.value, doc.tree, "", "")
}

// servicesIn takes the version and kind that items of a ServiceList may leave out.
func servicesIn(value any, at place, version, kind string) []object {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	if v, set := fields["apiVersion"].(string); set {
		version = v
	}
	if k, set := fields["kind"].(string); set {
		kind = k
	}
	switch {
	case version != "v1":
		return nil
	case kind == kindService:
		fields["apiVersion"], fields["kind"] = version, kind
		return []object{{fields, at}}
	case kind == kindList:
		return itemsOf(fields, at, "", "")
	case kind == kindServiceList:
		return itemsOf(fields, at, "v1", kindService)
	}
	return nil
}

func itemsOf(fields map[string]any, at place, version, kind string) []object {
	items, _ := fields["items"].([]any)
	list, _ := at.child("items")
	var all []object
	for i, item := range items {
		below, _ := list.item(i)
		all = append(all, servicesIn(item, below, version, kind)...)
	}
	return all
}
