package allocate

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

// textOf returns the parts that people and the process write: annotations, labels, spec and status, or the data of a
// ledger.
func textOf(object client.Object) string {
	if object == nil || reflect.ValueOf(object).IsNil() {
		return "deleted"
	}
	parts := []any{object.GetAnnotations(), object.GetLabels()}
	for _, field := range []string{"Spec", "Status", "Data"} {
		if value := reflect.ValueOf(object).Elem().FieldByName(field); value.IsValid() {
			parts = append(parts, value.Interface())
		}
	}
	text, _ := json.Marshal(parts)
	return string(text)
}

// deed lets people do something.
func (h *history) deed() {
	deeds := map[string]func(){"gateway": h.gateway, "route": h.changeRoute, "namespace": h.namespace,
		"set": h.listenerSet, "ledger": h.changeLedger,
		"foreign": h.foreignStatus, "note": h.changeNote, "restart": h.restart}
	deeds[pick(h, "deed", "gateway", "gateway", "route", "route", "route", "route", "namespace", "set", "set", "ledger",
		"foreign", "note", "restart")]()
}

func (h *history) gatewayName() string { return pick(h, "gateway", "edge", "edge", "two") }

// created returns an object for people to change: a copy of the existing one, or a new one. It returns false if people
// delete the object instead.
func created[T client.Object](h *history, namespace, name string, empty T) (T, bool) {
	var none T
	if is := gatewaytest.Get[T](h.api.Shelf, namespace, name); any(is) != any(none) {
		if h.chance("delete", 20) {
			h.drop(is)
			return none, false
		}
		now, _ := is.DeepCopyObject().(T)
		return now, true
	}
	empty.SetNamespace(namespace)
	empty.SetName(name)
	return empty, true
}

func (h *history) gateway() {
	gateway, is := created(h, "infra", h.gatewayName(), &gatewayv1.Gateway{})
	if !is {
		return
	}
	if gateway.Annotations == nil {
		gateway.Annotations = map[string]string{}
	}
	set := func(key string, values ...string) {
		delete(gateway.Annotations, key)
		if value := pick(h, "value", values...); value != "" {
			gateway.Annotations[key] = value
		}
	}
	isNew := gateway.UID == ""
	if isNew || h.chance("range", 30) {
		set(h.keys.PortRange, "20000-20002", "20000-20002", "20001-20003", "20001", "30000-30001", "many", "")
	}
	if isNew || h.chance("allowed listeners", 30) {
		from := pick(h, "from", gatewayv1.NamespacesFromAll, gatewayv1.NamespacesFromAll, gatewayv1.NamespacesFromSame,
			gatewayv1.NamespacesFromSelector)
		gateway.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &from,
			Selector: edgeYes()}}
		if h.chance("none", 15) {
			gateway.Spec.AllowedListeners = nil
		}
	}
	if isNew || h.chance("listeners", 20) {
		gateway.Spec.Listeners = []gatewayv1.Listener{{Name: "web",
			Port: pick(h, "port", gatewayv1.PortNumber(80), 20001, 20002), Protocol: gatewayv1.HTTPProtocolType}}
	}
	if h.chance("settings", 20) {
		set(h.keys.ExplicitRange, "", "443-444", "20000-20001")
		set(h.keys.MaxPorts, "", "", "2", "4")
		set(h.keys.MaxPortsPerNamespace, "", "", "1")
		set(h.keys.ReleaseGrace, "", "1m", "1m")
		set(h.keys.Disabled, "", "", "true")
	}
	if h.chance("address", 30) { // the Gateway's implementation writes the address
		gateway.Status.Addresses = pick(h, "addresses", nil, []gatewayv1.GatewayStatusAddress{{Value: "203.0.113.10"}})
	}
	h.put(gateway)
}

func (h *history) changeRoute() {
	kind := pick(h, "kind", read.TCPRoute, read.TCPRoute, read.UDPRoute)
	var object read.Object
	var is bool
	if namespace, name := pick(h, "namespace", namespaces()...), pick(h, "route", "a", "b"); kind == read.TCPRoute {
		object, is = created(h, namespace, name, &gatewayv1.TCPRoute{})
	} else {
		object, is = created(h, namespace, name, &gatewayv1.UDPRoute{})
	}
	if !is {
		return
	}
	route, _ := read.RouteOf(object)
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	set := func(key string, values ...string) {
		delete(annotations, key)
		if value := pick(h, "value", values...); value != "" {
			annotations[key] = value
		}
	}
	isNew := object.GetUID() == ""
	if isNew || h.chance("other gateway", 30) {
		set(h.keys.Gateway, "infra/edge", "infra/edge", "infra/edge", "infra/two", "infra/two", "infra/none", "edge", "")
	}
	if isNew || h.chance("other number", 40) {
		set(h.keys.ExternalPorts, "auto", "auto", "auto", "", "20001", "443", "443", "http:80")
	}
	if h.chance("withdrawn", 10) {
		set(h.keys.Disabled, "", "true")
	}
	if isNew || h.chance("other set", 25) {
		route.Spec.ParentRefs = nil
		own := strings.ToLower(kind) + "-" + object.GetName()
		if name := pick(h, "set", own, own, own, own, "s", "t", ""); name != "" {
			route.Spec.ParentRefs = []gatewayv1.ParentReference{{Kind: ptr.To(gatewayv1.Kind("ListenerSet")),
				Name: gatewayv1.ObjectName(name)}}
		}
	}
	object.SetAnnotations(annotations)
	h.put(object)
}

func (h *history) namespace() {
	namespace := gatewaytest.Get[*corev1.Namespace](h.api.Shelf, "", pick(h, "namespace", namespaces()...)).DeepCopy()
	namespace.Labels = pick(h, "labels", nil, map[string]string{"edge": "yes"})
	h.put(namespace)
}

// listenerSet makes a user's ListenerSet, or edits one that may be ours.
func (h *history) listenerSet() {
	sets := gatewaytest.Of[*gatewayv1.ListenerSet](h.api.Shelf)
	if len(sets) == 0 || h.chance("new", 40) {
		set, is := created(h, pick(h, "namespace", namespaces()...), pick(h, "set", "s", "t", "tcproute-a", "tcproute-b"),
			&gatewayv1.ListenerSet{})
		if !is || set.UID != "" {
			return
		}
		set.Spec.ParentRef = gatewayv1.ParentGatewayReference{Namespace: ptr.To(gatewayv1.Namespace("infra")),
			Name: gatewayv1.ObjectName(h.gatewayName())}
		set.Spec.Listeners = []gatewayv1.ListenerEntry{{Name: "tcp", Port: h.number(), Protocol: gatewayv1.TCPProtocolType}}
		h.put(set)
		return
	}
	set := pick(h, "edited", sets...).DeepCopy()
	switch pick(h, "edit", "delete", "delete", "port", "label", "foreign label", "gateway", "name", "name",
		"second listener") {
	case "delete":
		h.drop(gatewaytest.Get[*gatewayv1.ListenerSet](h.api.Shelf, set.Namespace, set.Name))
		return
	case "port":
		set.Spec.Listeners[0].Port = h.number()
	case "label":
		delete(set.Labels, h.keys.Managed)
	case "foreign label":
		set.Labels = map[string]string{h.keys.Managed: set.Labels[h.keys.Managed], "team": "red"}
	case "gateway":
		set.Spec.ParentRef.Name = gatewayv1.ObjectName(h.gatewayName())
	case "name": // one of its own, that of another ListenerSet, or that of a listener
		names := []string{"other", "listener web"}
		for _, other := range sets {
			names = append(names, other.Annotations[h.keys.PortName])
		}
		set.Annotations = map[string]string{h.keys.PortName: pick(h, "name", names...)}
	case "second listener":
		set.Spec.Listeners = append(set.Spec.Listeners[:1:1],
			gatewayv1.ListenerEntry{Name: "more", Port: h.number(), Protocol: gatewayv1.TCPProtocolType})
	}
	h.put(set)
}

func (h *history) number() gatewayv1.PortNumber {
	return pick(h, "number", gatewayv1.PortNumber(20000), 20001, 20001, 20002, 443, 443)
}

// changeLedger deletes a ledger, or puts another text into it.
func (h *history) changeLedger() {
	var ledgers []*corev1.ConfigMap
	for _, cm := range gatewaytest.Of[*corev1.ConfigMap](h.api.Shelf) {
		if _, is := gatewayOfLedger(cm); is {
			ledgers = append(ledgers, cm)
		}
	}
	if len(ledgers) == 0 {
		return
	}
	is := pick(h, "ledger", ledgers...)
	gateway, _ := gatewayOfLedger(is)
	cm := is.DeepCopy()
	h.copies = append(h.copies, is)
	edit := pick(h, "edit of a ledger", "delete", "copy", "copy", "copy", "number", "empty", "broken", "key")
	if edit != "key" {
		h.judge.harmed[gateway] = true
	}
	switch edit {
	case "delete":
		h.drop(is)
		return
	case "copy":
		old := pick(h, "copy", h.copies...)
		if old.Name != cm.Name {
			return
		}
		cm.Data, cm.Annotations, cm.Labels = old.Data, old.Annotations, old.Labels
	case "number":
		cm.Data[record.PlainKey] = strings.ReplaceAll(cm.Data[record.PlainKey], "20000", "20002")
	case "empty":
		delete(cm.Data, record.PlainKey)
	case "broken":
		cm.Data[record.PlainKey] = "{"
	case "key":
		cm.Data["note"] = "ours"
	}
	h.put(cm)
}

// foreignStatus writes into a route's status as another controller does.
func (h *history) foreignStatus() {
	if routes := h.routes(); len(routes) > 0 {
		object, _ := pick(h, "told", routes...).Object.(client.Object)
		now, _ := object.DeepCopyObject().(client.Object)
		route, _ := read.RouteOf(now)
		route.Status.Parents = slices.DeleteFunc(slices.Clone(route.Status.Parents),
			func(p gatewayv1.RouteParentStatus) bool { return p.ControllerName != allocator })
		if h.chance("says", 70) {
			entry := gatewayv1.RouteParentStatus{ControllerName: "example.com/other",
				ParentRef: gatewayv1.ParentReference{Name: "edge"}}
			route.Status.Parents = slices.Insert(route.Status.Parents,
				rapid.IntRange(0, len(route.Status.Parents)).Draw(h.r, "place"), entry)
		}
		h.note("another controller writes the status of %s", ownerOf(&route))
		h.api.Put(now, false)
	}
}

// changeNote edits the number that a route is told.
func (h *history) changeNote() {
	if routes := h.routes(); len(routes) > 0 {
		object, _ := pick(h, "edited", routes...).Object.(client.Object)
		now, _ := object.DeepCopyObject().(client.Object)
		annotations := now.GetAnnotations()
		if _, asks := annotations[h.keys.Gateway]; asks {
			annotations[h.keys.Ports] = pick(h, "note", "20000", "20001", "1")
			h.put(now)
		}
	}
}
