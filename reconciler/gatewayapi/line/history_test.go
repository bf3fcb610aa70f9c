package line

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/validation"
)

// TestPromisesOfGateways plays histories. People change Gateways, ListenerSets, routes, grants, namespaces and
// Services, and the feature follows with caches that are stale, writes that fail, and restarts. Its passes, its watches
// and its board are the real ones. The API server and the line of muxes are stand-ins. Once nothing is left to do, the
// reference must agree with every listener and every status.
func TestPromisesOfGateways(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHistory(t, r)
		for range rapid.IntRange(1, 40).Draw(r, "deeds") {
			h.deed()
			for range rapid.IntRange(0, 4).Draw(r, "passes") {
				h.something()
			}
			if h.chance("rest", 40) {
				h.rest()
			}
		}
		h.rest()
		h.restart()
		before, told := h.api.Wrote, h.told
		h.rest()
		h.checkf(h.api.Wrote == before, "quiet: a process that starts makes %d writes, though nothing changed",
			h.api.Wrote-before)
		h.checkf(h.told == told, "quiet: a process that starts sends %d Events, though nothing changed", h.told-told)
	})
}

// history is an API server, and a process with its caches.
type history struct {
	r        *rapid.T
	language validation.Language
	api      *gatewaytest.Server
	cache    *gatewaytest.Shelf
	line     *serving
	now      time.Time
	// todo are the keys in the queues of the controllers.
	todo map[string]map[types.NamespacedName]bool
	// later are Gateways that are looked at again after a while.
	later map[types.NamespacedName]bool
	// served are the namespaces whose Gateways the process serves.
	served []string
	// taken are the numbers that no listener gets: a channel has them.
	taken map[int32]bool
	keys  map[string]types.NamespacedName // the claimant's key of each listener
	onMux map[types.NamespacedName]int32  // the number that each listener has on its mux
	calm  bool                            // no write fails
	wrote string                          // the object that the process wrote last
	told  int                             // Events of the process
	log   []string
}

const foreign2 = "example.com/other"

func newHistory(t *testing.T, r *rapid.T) *history {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	h := &history{r: r, language: language, api: &gatewaytest.Server{Shelf: gatewaytest.NewShelf()},
		cache: gatewaytest.NewShelf(), now: at(0), served: []string{"infra"}, taken: map[int32]bool{},
		keys: map[string]types.NamespacedName{}, onMux: map[types.NamespacedName]int32{}}
	h.api.Answer = func(_, _ client.Object) (bool, error) {
		if !h.calm && h.chance("fails", 10) {
			return false, gatewaytest.ErrNoAnswer
		}
		return true, nil
	}
	h.api.Judge = h.judge
	keys := language.Keys()
	h.put(&gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "mux"},
		Spec: gatewayv1.GatewayClassSpec{ControllerName: read.ControllerName(&keys)}})
	h.put(&gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "other"},
		Spec: gatewayv1.GatewayClassSpec{ControllerName: foreign2}})
	for _, namespace := range namespaces() {
		h.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	pool := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "pool"},
		Spec: gatewayv1.GatewayClassSpec{ControllerName: read.ControllerName(&keys),
			ParametersRef: &gatewayv1.ParametersReference{Kind: "ConfigMap", Name: "muxes",
				Namespace: ptr.To(gatewayv1.Namespace("infra"))}}}
	h.put(pool)
	h.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "muxes"},
		Data: map[string]string{templateKey: "spec: {loadBalancerClass: gateway." + language.Prefix() + "/rack}"}})
	if h.chance("furnished", 70) {
		h.furnish()
	}
	h.restart()
	return h
}

// furnish makes a Gateway to which every route may attach, and Services in all namespaces.
func (h *history) furnish() {
	gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge"}}
	gateway.Spec.GatewayClassName = pick(h, "class name", gatewayv1.ObjectName("mux"), "pool")
	all := &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: ptr.To(gatewayv1.NamespacesFromAll)}}
	gateway.Spec.Listeners = []gatewayv1.Listener{{Name: "a", Port: 80, Protocol: gatewayv1.TCPProtocolType,
		AllowedRoutes: all},
		{Name: "b", Port: 81, Protocol: gatewayv1.UDPProtocolType, AllowedRoutes: all}}
	gateway.Spec.AllowedListeners = &gatewayv1.AllowedListeners{
		Namespaces: &gatewayv1.ListenerNamespaces{From: ptr.To(gatewayv1.NamespacesFromAll)}}
	h.put(gateway)
	for _, namespace := range namespaces() {
		h.put(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
				{Name: "http", Port: 80}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}}})
	}
}

func at(second int) time.Time { return time.Date(2026, 11, 1, 0, 0, second, 0, time.UTC) }

func namespaces() []string { return []string{"bank", "infra", "shop"} }

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *history) checkf(is bool, format string, args ...any) {
	if !is {
		h.r.Fatalf("%s\n%s", strings.Join(h.log, "\n"), fmt.Sprintf(format, args...))
	}
}

func (h *history) chance(what string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(h.r, what) <= percent
}

func pick[T any](h *history, what string, from ...T) T {
	return rapid.SampledFrom(from).Draw(h.r, what)
}

// put stores an object as people do.
func (h *history) put(object client.Object) {
	if h.api.At(object) == nil {
		h.now = h.now.Add(time.Second)
		object.SetCreationTimestamp(metav1.NewTime(
			h.now.Add(-time.Duration(rapid.IntRange(0, 2).Draw(h.r, "age")) * time.Minute)))
	}
	h.note("people put %s %s: %s", gatewaytest.KindOf(object), client.ObjectKeyFromObject(object), specOf(object))
	h.api.Put(object, true)
}

func specOf(object client.Object) string {
	spec := reflect.ValueOf(object).Elem().FieldByName("Spec")
	if !spec.IsValid() {
		return ""
	}
	if svc, is := object.(*corev1.Service); is {
		return fmt.Sprint(svc.Spec.Ports)
	}
	text, _ := jsonOf(spec.Interface())
	return text
}

func (h *history) drop(object client.Object) {
	h.note("people delete %s %s", gatewaytest.KindOf(object), client.ObjectKeyFromObject(object))
	h.api.Drop(object)
}

// restart begins a process: its cache is current, and all objects wake it.
func (h *history) restart() {
	h.note("a process starts")
	h.cache = gatewaytest.NewShelf()
	h.todo, h.later = map[string]map[types.NamespacedName]bool{}, map[types.NamespacedName]bool{}
	for _, queue := range []string{"class", "gateway", "route", "mux"} {
		h.todo[queue] = map[types.NamespacedName]bool{}
	}
	board := NewBoard(h.language.Keys())
	board.WakeMux = func(mux types.NamespacedName) { h.todo["mux"][mux] = true }
	board.WakeBackends = func([]types.NamespacedName) {}
	board.SlicesOf = func(context.Context, client.Reader, types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
		return nil, nil
	}
	options := &Options{Language: h.language, Name: "svc-mux/lease", Namespaces: slices.Clone(h.served), Board: board,
		Events: events{h: h},
		Now:    func() time.Time { return h.now }, Log: logr.Discard(),
		WritesAtOnce:  1, // in one order, so that a history can be played again
		WritesOfAPass: rapid.SampledFrom([]int{1, 3, 100}).Draw(h.r, "writes of a pass")}
	w := gatewaytest.Writer{Server: h.api}
	h.line = &serving{Options: options, keys: h.language.Keys(), cache: h.cache, live: w, write: w,
		templates: map[string]template{},
		kinds:     run.Kinds{"Gateway", "GatewayClass", "ListenerSet", "ReferenceGrant", "TCPRoute", "UDPRoute"},
		passed:    map[types.NamespacedName]bool{},
		paces:     pace.New[types.NamespacedName]()}
	h.checkf(h.line.index(h.r.Context(), h.cache) == nil, "no index")
	board.connect(h.line.readLive, func(gateway types.NamespacedName) { h.todo["gateway"][gateway] = true })
	for _, kind := range h.kinds() {
		h.deliver(kind)
	}
}

func (h *history) kinds() []string { return h.api.Kinds() }

// deliver lets the cache of a kind catch up, and wakes the objects that the changes concern, as the watches do.
func (h *history) deliver(kind string) {
	is := h.api.Objects[kind]
	before := h.cache.Objects[kind]
	h.cache.Objects[kind] = maps.Clone(is)
	names := map[types.NamespacedName]bool{}
	for _, all := range []map[types.NamespacedName]client.Object{before, is} {
		for key := range all {
			names[key] = true
		}
	}
	for key := range names {
		old, now := before[key], is[key]
		if old != nil && now != nil && old.GetResourceVersion() == now.GetResourceVersion() {
			continue
		}
		for _, object := range []client.Object{old, now} {
			if object == nil {
				continue
			}
			if kind == "GatewayClass" {
				h.todo["class"][key] = true
			}
			if svc, is := object.(*corev1.Service); is && svc.Labels[h.line.keys.Managed] == "true" {
				h.todo["mux"][key] = true
			}
			for _, gateway := range h.line.gatewaysOf(h.r.Context(), object) {
				h.todo["gateway"][gateway] = true
			}
			for _, route := range h.line.straysOf(h.r.Context(), object) {
				h.todo["route"][route] = true
			}
		}
	}
}

// something lets the process, a cache or the garbage collector do one step.
func (h *history) something() {
	if h.chance("collect", 5) {
		h.api.Collect()
	}
	if h.chance("deliver", 50) {
		h.deliver(pick(h, "kind", h.kinds()...))
		return
	}
	for _, queue := range rapid.Permutation([]string{"class", "gateway", "route", "mux"}).Draw(h.r, "queues") {
		if waiting := h.waiting(queue); len(waiting) > 0 {
			h.reconcile(queue, pick(h, "key", waiting...))
			return
		}
	}
}

func (h *history) waiting(queue string) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(h.todo[queue]), plan.CompareKeys)
}

func (h *history) reconcile(queue string, key types.NamespacedName) {
	delete(h.todo[queue], key)
	if queue == "mux" {
		h.decideNumbers(key)
		return
	}
	pass := map[string]reconcile.Func{"class": h.line.reconcileClass, "gateway": h.line.Reconcile,
		"route": h.line.reconcileStray}[queue]
	h.note("pass: %s %s", queue, key)
	seen := maps.Clone(h.cache.Objects)
	copies := map[client.Object]client.Object{}
	for _, all := range seen {
		for _, object := range all {
			copies[object] = object.DeepCopyObject().(client.Object)
		}
	}
	result, err := pass(h.r.Context(), reconcile.Request{NamespacedName: key})
	switch {
	case err != nil || result.RequeueAfter > 0 && result.RequeueAfter < time.Second:
		h.todo[queue][key] = true
	case result.RequeueAfter > 0:
		h.later[key] = true
	}
	if queue == "gateway" && err == nil {
		h.posted(key)
	}
	for object, was := range copies {
		h.checkf(reflect.DeepEqual(object, was), "not ours, not touched: a pass changes the cached %s %s",
			gatewaytest.KindOf(object), object.GetName())
	}
}

// posted compares the board with what the caches say, right after a pass.
func (h *history) posted(key types.NamespacedName) {
	gateway := gatewaytest.Get[*gatewayv1.Gateway](h.cache, key.Namespace, key.Name)
	mux := gatewaytest.Get[*corev1.Service](h.cache, key.Namespace, read.MuxOf(key).Name)
	if gateway == nil || mux == nil || ownerOf(mux) != gateway.UID ||
		!isOurs(gatewaytest.Get[*gatewayv1.GatewayClass](h.cache, "", string(gateway.Spec.GatewayClassName))) ||
		!h.line.passed[key] || h.line.templateOf(string(gateway.Spec.GatewayClassName)) == nil {
		return
	}
	h.checkBoard(refer(h.cache, gateway, ptr.Deref(mux.Spec.LoadBalancerClass, "") != ""), mux)
}

// decideNumbers stands in for the line of muxes: a listener gets its number, unless a channel has it.
func (h *history) decideNumbers(mux types.NamespacedName) {
	svc := gatewaytest.Get[*corev1.Service](h.cache, mux.Namespace, mux.Name)
	if svc == nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer { // it is no mux
		return
	}
	keys := h.language.Keys()
	for _, channel := range h.line.Board.On(mux) {
		accepted := metav1.Condition{Type: keys.Accepted, Status: metav1.ConditionTrue, Reason: "Accepted"}
		programmed := metav1.Condition{Type: keys.Programmed, Status: metav1.ConditionTrue, Reason: "Programmed"}
		note := validation.FormatPorts([]validation.PortMapping{{Name: channel.Ports[0].Name, Port: channel.Ports[0].Port,
			Public: channel.Ports[0].Port}})
		h.onMux[channel.Key] = channel.Ports[0].Port
		if h.taken[channel.Ports[0].Port] {
			note, h.onMux[channel.Key] = "", 0
			accepted.Status, accepted.Message = metav1.ConditionFalse, "a channel has it"
			programmed.Status = metav1.ConditionFalse
		} else if len(svc.Status.LoadBalancer.Ingress) == 0 {
			programmed.Status, programmed.Message = metav1.ConditionFalse, "no address yet"
		}
		a, p := meta.FindStatusCondition(channel.Conditions, keys.Accepted), meta.FindStatusCondition(channel.Conditions,
			keys.Programmed)
		if a == nil || p == nil || a.Status != accepted.Status || p.Status != programmed.Status ||
			p.Message != programmed.Message ||
			channel.PortsNote != note {
			h.line.Board.Show(mux, &plan.ChannelPatch{Channel: channel.Key, Conditions: []metav1.Condition{accepted, programmed},
				SetNote: true, PortsNote: note})
		}
	}
}

// rest lets the process work until nothing is left to do, and compares the result with the reference.
func (h *history) rest() {
	h.calm = true
	defer func() { h.calm = false }()
	timed, wrote := false, h.api.Wrote
	for range 200 {
		h.api.Collect()
		for _, kind := range h.kinds() {
			h.deliver(kind)
		}
		idle := true
		for _, queue := range []string{"class", "mux", "gateway", "route"} {
			for _, key := range h.waiting(queue) {
				idle = false
				h.reconcile(queue, key)
			}
		}
		if timed = timed && wrote == h.api.Wrote; idle && !timed {
			timed, wrote, h.now = true, h.api.Wrote, h.now.Add(othersPatience)
			maps.Copy(h.todo["gateway"], h.later)
			clear(h.later)
			continue
		}
		if idle {
			h.note("nothing is left to do")
			h.atRest()
			return
		}
	}
	h.checkf(false, "quiet: it doesn't come to rest")
}

// events takes the process's Events. An Event follows a write of its object's status.
type events struct {
	record.EventRecorder
	h *history
}

func (e events) Event(about runtime.Object, kind, reason, message string) {
	object := about.(*corev1.ObjectReference)
	name := object.Kind + " " + object.Namespace + "/" + object.Name
	e.h.note("  tells %s: %s %s %s", name, kind, reason, message)
	e.h.checkf(name == e.h.wrote, "quiet: an Event about %s, and %s was written last", name, e.h.wrote)
	e.h.told++
}

// judge checks a write of the process.
func (h *history) judge(before, after client.Object) {
	object := after
	if after == nil {
		object = before
	}
	h.wrote = gatewaytest.KindOf(object) + " " + client.ObjectKeyFromObject(object).String()
	h.note("  writes %s", h.wrote)
	if svc, is := before.(*corev1.Service); is {
		owner := metav1.GetControllerOf(svc)
		h.checkf(svc.Labels[h.line.keys.Managed] == "true" && owner != nil && owner.Kind == "Gateway",
			"not ours, not touched: Service %s is written", svc.Name)
	}
	switch o := after.(type) {
	case *gatewayv1.Gateway:
		if said := meta.FindStatusCondition(before.(*gatewayv1.Gateway).Status.Conditions,
			"Accepted"); !slices.Contains(h.served, o.Namespace) && said != nil {
			h.checkf(said.Reason == "MuxNotServed", "not ours, not touched: Gateway %s says %s of another release", o.Name,
				said.Reason)
		}
		for i, l := range o.Spec.Listeners {
			if i < len(o.Status.Listeners) {
				h.checkProgrammed(o, "gateway/"+o.Name+"/"+string(l.Name), l.Port, o.Status.Listeners[i].Conditions)
			}
		}
	case *gatewayv1.ListenerSet:
		for i, l := range o.Spec.Listeners {
			if i < len(o.Status.Listeners) {
				h.checkProgrammed(o, "listenerset/"+o.Name+"/"+string(l.Name), l.Port, o.Status.Listeners[i].Conditions)
			}
		}
	}
	if was, is := read.RouteOf(before); is {
		now, _ := read.RouteOf(after)
		others := func(all []gatewayv1.RouteParentStatus) []gatewayv1.RouteParentStatus {
			return slices.DeleteFunc(slices.Clone(all), func(p gatewayv1.RouteParentStatus) bool {
				return p.ControllerName == read.ControllerName(&h.line.keys)
			})
		}
		h.checkf(equality.Semantic.DeepEqual(others(was.Status.Parents), others(now.Status.Parents)),
			"not ours, not touched: %s %s loses what another controller wrote",
			was.Kind, object.GetName())
	}
}

// checkProgrammed: a listener says that it is programmed only if the mux has its number.
func (h *history) checkProgrammed(object client.Object, name string, number int32, conditions []metav1.Condition) {
	c := meta.FindStatusCondition(conditions, programmedType)
	key := types.NamespacedName{Namespace: object.GetNamespace(), Name: name}
	if c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == object.GetGeneration() {
		h.checkf(h.onMux[key] == number, "addresses: %s is programmed with number %d, and the mux has %d", key, number,
			h.onMux[key])
	}
}

// ours are the Gateways of a shelf that are ours, in namespaces that the process serves.
func (h *history) ours(s *gatewaytest.Shelf, is func(class *gatewayv1.GatewayClass) bool) (all []*gatewayv1.Gateway) {
	for _, gateway := range gatewaytest.Of[*gatewayv1.Gateway](s) {
		if slices.Contains(h.served, gateway.Namespace) &&
			is(gatewaytest.Get[*gatewayv1.GatewayClass](s, "", string(gateway.Spec.GatewayClassName))) {
			all = append(all, gateway)
		}
	}
	return all
}

func isOurs(class *gatewayv1.GatewayClass) bool { return class != nil && class.Name != "other" }

func (h *history) atRest() {
	statuses := map[string]int{} // of routes: those that must be there
	unclear := map[string]bool{} // those that may be there
	for _, gateway := range h.ours(h.api.Shelf, func(c *gatewayv1.GatewayClass) bool { return c == nil }) {
		ref := refer(h.api.Shelf, gateway, false)
		for i := range ref.routes {
			route := &ref.routes[i]
			for _, p := range route.status.Parents {
				if ref.isParent(route, &p.ParentRef) {
					unclear[statusKey(route, &p.ParentRef)] = true
				}
			}
		}
	}
	for _, gateway := range h.ours(h.api.Shelf, isOurs) {
		mux := gatewaytest.Get[*corev1.Service](h.api.Shelf, gateway.Namespace,
			read.MuxOf(client.ObjectKeyFromObject(gateway)).Name)
		h.checkf(mux != nil, "mux: Gateway %s has none", gateway.Name)
		ref := refer(h.api.Shelf, gateway, ptr.Deref(mux.Spec.LoadBalancerClass, "") != "")
		if ownerOf(mux) == gateway.UID {
			h.checkBoard(ref, mux)
			h.checkLive(ref, mux)
		}
		h.gatewayAtRest(ref, mux)
		h.eachParent(ref, func(route *refRoute, p *gatewayv1.ParentReference) {
			statuses[statusKey(route, p)]++
			h.parentAtRest(ref, route, p)
		})
	}
	for _, route := range allRoutes(h.api.Shelf) {
		for _, p := range route.status.Parents {
			if p.ControllerName != read.ControllerName(&h.line.keys) {
				continue
			}
			key := statusKey(&route, &p.ParentRef)
			statuses[key]--
			h.checkf(statuses[key] == 0 || unclear[key], "routes: a status about a parent that isn't ours, or two about one: %s",
				key)
		}
	}
	for key, missing := range statuses {
		h.checkf(missing <= 0, "routes: no status: %s", key)
	}
	for _, gateway := range gatewaytest.Of[*gatewayv1.Gateway](h.api.Shelf) {
		said := meta.FindStatusCondition(gateway.Status.Conditions, "Accepted")
		if isOurs(gatewaytest.Get[*gatewayv1.GatewayClass](h.api.Shelf, "", string(gateway.Spec.GatewayClassName))) {
			h.checkf(said != nil && (said.Reason != "MuxNotServed" || !slices.Contains(h.served, gateway.Namespace)),
				"statuses: Gateway %s/%s: %v", gateway.Namespace, gateway.Name, said)
		}
	}
	for _, svc := range gatewaytest.Of[*corev1.Service](h.api.Shelf) {
		if owner := metav1.GetControllerOf(svc); owner != nil {
			h.checkf(slices.Contains(h.served, svc.Namespace), "mux: Service %s/%s is in a namespace that isn't served",
				svc.Namespace, svc.Name)
			gateway := gatewaytest.Get[*gatewayv1.Gateway](h.api.Shelf, svc.Namespace, owner.Name)
			h.checkf(gateway != nil && gateway.Spec.GatewayClassName != "other",
				"mux: Service %s stays, though its Gateway is another controller's", svc.Name)
		}
	}
}

func statusKey(route *refRoute, ref *gatewayv1.ParentReference) string {
	text, _ := jsonOf(ref)
	return fmt.Sprintf("%s %s %s", route.kind, client.ObjectKeyFromObject(route.object), text)
}

func (h *history) eachParent(ref *reference, do func(route *refRoute, p *gatewayv1.ParentReference)) {
	for i := range ref.routes {
		for j := range ref.routes[i].refs {
			if ref.isParent(&ref.routes[i], &ref.routes[i].refs[j]) {
				do(&ref.routes[i], &ref.routes[i].refs[j])
			}
		}
	}
}

// checkLive reads the listeners as the line of muxes does before it takes a number from one.
func (h *history) checkLive(ref *reference, mux *corev1.Service) {
	gateway := client.ObjectKeyFromObject(ref.gateway)
	for _, channel := range h.line.Board.On(client.ObjectKeyFromObject(mux)) {
		live, err := h.line.readLive(h.r.Context(), gateway, channel.Key)
		h.checkf(err == nil && live != nil && reflect.DeepEqual(live.Channel, channel.Channel),
			"listeners: %s is read live as %v, %v", channel.Key, live, err)
	}
	gone, err := h.line.readLive(h.r.Context(), gateway,
		types.NamespacedName{Namespace: "shop", Name: "listenerset/none/a"})
	h.checkf(err == nil && gone == nil, "listeners: one that never was is read live as %v, %v", gone, err)
}

// checkBoard compares the listeners on the board, their numbers and their backends.
func (h *history) checkBoard(ref *reference, mux *corev1.Service) {
	want, got := map[string]string{}, map[string]string{}
	for i := range ref.listeners {
		l := &ref.listeners[i]
		if !ref.isServed(l) {
			continue
		}
		protocol := corev1.ProtocolTCP
		if l.Protocol == gatewayv1.UDPProtocolType {
			protocol = corev1.ProtocolUDP
		}
		want[l.name()] = fmt.Sprintf("%d/%s %v", l.Port, protocol, ref.backends(l))
	}
	board := h.line.Board
	for _, channel := range board.On(client.ObjectKeyFromObject(mux)) {
		weights := map[string]int32{}
		for _, backend := range board.muxes[client.ObjectKeyFromObject(mux)].listeners[channel.Key].backends {
			weights[backend.Service.String()+" "+backend.PortName] = backend.Weight
		}
		key := channel.Key.String()
		got[key] = fmt.Sprintf("%d/%s %v", channel.Ports[0].Request.Number, channel.Ports[0].Protocol, weights)
		h.checkf(channel.Admitted, "listeners: %s isn't admitted", key)
		if known, is := h.keys[key]; is {
			h.checkf(known == channel.Key, "listeners: the key of %s was %s", key, known)
		}
		h.keys[key] = channel.Key
	}
	h.checkf(maps.Equal(want, got), "listeners: of Gateway %s: want %v\ngot %v", ref.gateway.Name, want, got)
}

func (h *history) isProgrammed(ref *reference, l *refListener, mux *corev1.Service) bool {
	return ref.isServed(l) && !h.taken[l.Port] && len(mux.Status.LoadBalancer.Ingress) > 0
}

func (h *history) gatewayAtRest(ref *reference, mux *corev1.Service) {
	isRefused := gatewaytest.Get[*gatewayv1.Gateway](h.api.Shelf, ref.gateway.Namespace,
		ref.gateway.Name).UID != ownerOf(mux)
	sets := map[string]bool{}
	for i := range ref.listeners {
		l := &ref.listeners[i]
		generation, conditions, attached := ref.gateway.Generation, []metav1.Condition(nil), int32(-1)
		if l.kind == "Gateway" {
			for _, s := range ref.gateway.Status.Listeners {
				if s.Name == l.Name {
					conditions, attached = s.Conditions, s.AttachedRoutes
				}
			}
		} else {
			set := gatewaytest.Get[*gatewayv1.ListenerSet](h.api.Shelf, l.namespace, l.owner)
			generation = set.Generation
			for _, s := range set.Status.Listeners {
				if s.Name == l.Name {
					conditions, attached = s.Conditions, s.AttachedRoutes
				}
			}
			if ref.isServed(l) && !h.taken[l.Port] && !isRefused {
				sets[l.namespace+"/"+l.owner] = true
			}
		}
		h.checkf(int(attached) == len(ref.attached(l)), "statuses: %s has %d routes, want %d", l.name(), attached,
			len(ref.attached(l)))
		programmed := h.isProgrammed(ref, l, mux) && !isRefused
		h.checkf(meta.IsStatusConditionTrue(conditions, programmedType) == programmed,
			"statuses: %s is programmed, want %t: %v", l.name(), programmed, conditions)
		for _, c := range conditions {
			h.checkf(c.ObservedGeneration == generation, "statuses: %s of %s is of generation %d, want %d", c.Type, l.name(),
				c.ObservedGeneration, generation)
		}
		h.checkf(len(conditions) == 4, "statuses: %s has %d conditions", l.name(), len(conditions))
	}
	isMux := mux.Spec.Type == corev1.ServiceTypeLoadBalancer // otherwise nothing is decided
	h.checkf(!isMux || int(ptr.Deref(ref.gateway.Status.AttachedListenerSets, -1)) == len(sets),
		"statuses: Gateway %s has %d ListenerSets, want %d", ref.gateway.Name,
		ptr.Deref(ref.gateway.Status.AttachedListenerSets, -1), len(sets))
	for _, set := range ref.sets {
		c := meta.FindStatusCondition(set.Status.Conditions, "Accepted")
		h.checkf(c != nil && (c.Reason == "NotAllowed") == !ref.admits(set), "statuses: ListenerSet %s: %v", set.Name, c)
	}
}

const programmedType = "Programmed"

func ownerOf(svc *corev1.Service) types.UID {
	if owner := metav1.GetControllerOf(svc); owner != nil {
		return owner.UID
	}
	return ""
}

func (h *history) parentAtRest(ref *reference, route *refRoute, p *gatewayv1.ParentReference) {
	for _, s := range route.status.Parents {
		if s.ControllerName != read.ControllerName(&h.line.keys) || !equality.Semantic.DeepEqual(s.ParentRef, *p) {
			continue
		}
		key := statusKey(route, p)
		h.checkf(meta.IsStatusConditionTrue(s.Conditions, "Accepted") == ref.isAccepted(route, p),
			"routes: accepted, want %t: %s", ref.isAccepted(route, p), key)
		h.checkf(meta.IsStatusConditionTrue(s.Conditions, "ResolvedRefs") == ref.isResolved(route),
			"routes: backends are found, want %t: %s", ref.isResolved(route), key)
		for _, c := range s.Conditions {
			h.checkf(c.ObservedGeneration == route.object.GetGeneration(), "routes: %s is of an older generation: %s", c.Type,
				key)
		}
	}
}
