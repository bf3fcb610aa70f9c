package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zapcore"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// gatewayServer is an API server that answers lists of all kinds that predictions read.
type gatewayServer struct {
	*httptest.Server
	lists   map[string]any // by resource; a kind that isn't here isn't installed
	forbids atomic.Bool
}

func newGatewayServer(t *testing.T, lists map[string]any) *gatewayServer {
	t.Helper()
	s := &gatewayServer{lists: lists}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		status := func(code int, reason metav1.StatusReason) {
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: path.Base(r.URL.Path)})
		}
		list, installed := s.lists[path.Base(r.URL.Path)]
		switch {
		case s.forbids.Load() && path.Base(r.URL.Path) == "gateways":
			status(http.StatusForbidden, metav1.StatusReasonForbidden)
		case !installed:
			status(http.StatusNotFound, metav1.StatusReasonNotFound)
		case r.URL.Query().Get("sendInitialEvents") != "":
			status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			_ = json.NewEncoder(w).Encode(list)
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// follow starts a predictor that follows the server.
func (s *gatewayServer) follow(t *testing.T, strict bool) (*predictor, *safeBuffer) {
	t.Helper()
	options := PredictOptions{Predict: "true", HideHolders: "true", Routes: true, Kubeconfig: kubeconfigOf(t, s.URL)}
	if strict {
		options.Strict = "true"
	}
	return followingWith(t, options)
}

const ourPrefix = "svc-mux.nowake.ai/"

// aGateway gives the numbers 9000 to 9003, and has a listener on 9002.
func aGateway(edits ...func(*gatewayv1.Gateway)) gatewayv1.Gateway {
	g := gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge", UID: "edge",
		Annotations: map[string]string{ourPrefix + "port-range": "9000-9003"}},
		Spec: gatewayv1.GatewaySpec{GatewayClassName: "theirs",
			Listeners: []gatewayv1.Listener{{Name: "mail", Port: 9002, Protocol: gatewayv1.TCPProtocolType}},
			AllowedListeners: &gatewayv1.AllowedListeners{
				Namespaces: &gatewayv1.ListenerNamespaces{From: ptr.To(gatewayv1.NamespacesFromSelector),
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "yes"}}}}}}
	for _, edit := range edits {
		edit(&g)
	}
	return g
}

// asking is a route that asks for a number on the Gateway infra/edge.
func asking(namespace, name, number string) gatewayv1.TCPRoute {
	return gatewayv1.TCPRoute{TypeMeta: metav1.TypeMeta{APIVersion: "gateway.networking.k8s.io/v1", Kind: "TCPRoute"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "u", Annotations: map[string]string{
			ourPrefix + "gateway": "infra/edge", ourPrefix + "external-ports": number}},
		Spec: gatewayv1.TCPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{
			{Kind: ptr.To(gatewayv1.Kind("ListenerSet")), Name: gatewayv1.ObjectName(name)}}}}}
}

func listsOf(gateway gatewayv1.Gateway, routes ...gatewayv1.TCPRoute) map[string]any {
	named := func(name string, labels map[string]string) corev1.Namespace {
		return corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	meta := metav1.ListMeta{ResourceVersion: "1"}
	version := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: "gateway.networking.k8s.io/v1", Kind: kind}
	}
	return map[string]any{
		"services": corev1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, ListMeta: meta},
		"namespaces": corev1.NamespaceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}, ListMeta: meta,
			Items: []corev1.Namespace{
				named("infra", nil), named("shop", map[string]string{"team": "yes"}),
				named("other", map[string]string{"team": "yes"}), named("strangers", nil)}},
		"gateways": gatewayv1.GatewayList{TypeMeta: version("GatewayList"), ListMeta: meta,
			Items: []gatewayv1.Gateway{gateway}},
		"listenersets": gatewayv1.ListenerSetList{TypeMeta: version("ListenerSetList"), ListMeta: meta},
		"tcproutes":    gatewayv1.TCPRouteList{TypeMeta: version("TCPRouteList"), ListMeta: meta, Items: routes},
	}
}

func reviewOf(t *testing.T, p *predictor, old *gatewayv1.TCPRoute, route gatewayv1.TCPRoute) Answer {
	t.Helper()
	raw := func(object any) runtime.RawExtension {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: text}
	}
	req := &admissionv1.AdmissionRequest{UID: "1", Operation: admissionv1.Create, Namespace: route.Namespace,
		Name:   route.Name,
		Kind:   metav1.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "TCPRoute"},
		Object: raw(route)}
	if old != nil {
		req.Operation, req.OldObject = admissionv1.Update, raw(*old)
	}
	return review(testLanguage(t), p, nil, req)
}

func TestRoutesArePredicted(t *testing.T) {
	anything := []string{""}
	full := []gatewayv1.TCPRoute{asking("other", "a", "9000"), asking("other", "b", "9001"), asking("other", "c", "9003")}
	for name, test := range map[string]struct {
		gateway gatewayv1.Gateway
		routes  []gatewayv1.TCPRoute
		old     *gatewayv1.TCPRoute
		route   gatewayv1.TCPRoute
		says    []string // parts of the warning; nil if there must be no warning, anything if one is allowed
	}{
		"a free number": {aGateway(), nil, nil, asking("shop", "r", "9001"), nil},
		"any number":    {aGateway(), full[:1], nil, asking("shop", "r", "auto"), nil},
		"a number of the Gateway's own": {aGateway(), nil, nil, asking("shop", "r", "9002"),
			[]string{"it will get no port", "9002/TCP"}},
		"a number of another namespace": {aGateway(), full[:1], nil, asking("shop", "r", "9000"),
			[]string{"9000/TCP", "another namespace"}},
		"a number of the same namespace": {aGateway(), full[:1], nil, asking("other", "r", "9000"),
			[]string{"9000/TCP", "other/tcproute/a"}},
		"all numbers are given": {aGateway(), full, nil, asking("shop", "r", "auto"), []string{"it will get " +
			"no port"}},
		"a namespace that isn't allowed": {aGateway(), nil, nil, asking("strangers", "r", "auto"),
			[]string{"it will get no port", "strangers"}},
		"no such Gateway": {aGateway(func(g *gatewayv1.Gateway) { g.Name = "another" }), nil, nil,
			asking("shop", "r", "auto"), []string{"there is no Gateway infra/edge"}},
		"a Gateway that gives no numbers": {aGateway(func(g *gatewayv1.Gateway) { g.Annotations = nil }), nil, nil,
			asking("shop", "r", "auto"), []string{"no numbers are given on the Gateway infra/edge"}},
		"a route that stays as it is": {aGateway(), full, ptr.To(asking("other", "a", "9000")),
			asking("other", "a", "9000"), nil},
		"a route that moves to a taken one": {aGateway(), full, ptr.To(asking("other", "a", "9000")),
			asking("other", "a", "9001"), []string{"9001/TCP"}},
		"a quota of the Gateway": {
			aGateway(func(g *gatewayv1.Gateway) { g.Annotations[ourPrefix+"max-ports-per-namespace"] = "1" }), full[:1], nil,
			asking("other", "r", "auto"), []string{"it will get no port"}},
		"one of the last numbers, with room": {aGateway(), full[:2], nil, asking("shop", "r", "9003"), anything},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := newGatewayServer(t, listsOf(test.gateway, test.routes...)).follow(t, false)
			eventually(t, "the objects are read", p.routesReady)
			answer := reviewOf(t, p, test.old, test.route)
			got := strings.Join(answer.Response.Warnings, "\n")
			if warns := test.says != nil; !answer.Response.Allowed || (got != "") != warns &&
				!slices.Equal(test.says, anything) {
				t.Fatalf("allowed %t, warns of %q", answer.Response.Allowed, got)
			}
			for _, word := range test.says {
				if !strings.Contains(got, word) {
					t.Errorf("it doesn't say %q: %s", word, got)
				}
			}
		})
	}
}

func TestStrictPredictionsDenyRoutes(t *testing.T) {
	p, _ := newGatewayServer(t, listsOf(aGateway())).follow(t, true)
	eventually(t, "the objects are read", p.routesReady)
	answer := reviewOf(t, p, nil, asking("shop", "r", "9002"))
	if answer.Response.Allowed || !strings.Contains(answer.Response.Result.Message, "9002/TCP") ||
		answer.Response.Result.Details.Causes[0].Field != "metadata.annotations["+ourPrefix+"external-ports]" {
		t.Errorf("got %+v", answer.Response.Result)
	}
}

// TestWithoutTheGatewayAPINothingIsPredictedForRoutes reviews a route although the follower found no Gateway API. So
// the API was installed a moment ago, and what the follower knows is stale.
func TestWithoutTheGatewayAPINothingIsPredictedForRoutes(t *testing.T) {
	lists := listsOf(aGateway())
	for _, kind := range []string{"gateways", "listenersets", "tcproutes"} {
		delete(lists, kind)
	}
	p, logs := newGatewayServer(t, lists).follow(t, false)
	eventually(t, "Services are read", p.ready)
	if answer := reviewOf(t, p, nil, asking("shop", "r", "9002")); len(answer.Response.Warnings) > 0 ||
		!answer.Response.Allowed || p.routesReady() {
		t.Errorf("got %+v", answer.Response)
	}
	if strings.Contains(logs.String(), "can't be read") {
		t.Errorf("the log is %s", logs)
	}
}

func TestRoutesAreNotPredictedWhileGatewaysCannotBeRead(t *testing.T) {
	s := newGatewayServer(t, listsOf(aGateway()))
	s.forbids.Store(true)
	p, logs := s.follow(t, false)
	eventually(t, "the failure is logged",
		func() bool { return strings.Contains(logs.String(), "Gateways and routes can't be read") })
	eventually(t, "Services are read", p.ready)
	if answer := reviewOf(t, p, nil, asking("shop", "r", "9002")); len(answer.Response.Warnings) > 0 ||
		!answer.Response.Allowed {
		t.Errorf("got %+v", answer.Response)
	}
	s.forbids.Store(false)
	eventually(t, "Gateways are read", p.routesReady)
	if n := strings.Count(logs.String(), "can't be read"); n != 1 {
		t.Errorf("logged %d times: %s", n, logs)
	}
}

// TestStoredObjectsHaveNoManagedFields covers watch events and plain lists. The reflector itself trims only streamed
// lists.
func TestStoredObjectsHaveNoManagedFields(t *testing.T) {
	edge := aGateway()
	edge.ManagedFields = managedBy([]byte("{}"), "helm")
	var got metav1.Object
	s := &store{mu: &sync.Mutex{}, set: func(_ types.NamespacedName, object metav1.Object) { got = object },
		read: func() {}}
	for what, bring := range map[string]func() error{
		"a watch event": func() error { return s.Add(edge.DeepCopy()) },
		"a list":        func() error { return s.Replace([]any{edge.DeepCopy()}, "") },
	} {
		if err := bring(); err != nil || got == nil || len(got.GetManagedFields()) > 0 {
			t.Errorf("%s: %v, %v", what, got, err)
		}
		got = nil
	}
}

// TestChangesOfGatewaysReachTheIndex adds, changes and deletes the objects one by one. Each prediction must follow from
// the objects that exist at the time.
func TestChangesOfGatewaysReachTheIndex(t *testing.T) {
	lang := testLanguage(t)
	index := newIndex(lang, time.Now)
	g := newGateways(lang, index)
	index.absent = g.absent
	stores := map[string]*store{}
	for _, f := range g.feeds(clients{}) {
		stores[f.resource] = f.store(func() {}).(*store)
	}
	edge, held := aGateway(), asking("shop", "held", "9001")
	set := gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "theirs"},
		Spec: gatewayv1.ListenerSetSpec{
			ParentRef: gatewayv1.ParentGatewayReference{Name: "edge", Namespace: ptr.To(gatewayv1.Namespace("infra"))},
			Listeners: []gatewayv1.ListenerEntry{{Name: "x", Port: 9003, Protocol: gatewayv1.TCPProtocolType}}}}
	shop := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "yes"}}}
	p := &predictor{lang: lang, index: index, metrics: newPredictionMetrics(prometheus.NewRegistry()),
		slots: make(chan struct{}, 1), timeout: time.Minute,
		ready: func() bool { return true }, routesReady: func() bool { return true },
		log: newLog(zapcore.InfoLevel, &safeBuffer{})}
	warns := func(number string) string {
		return strings.Join(reviewOf(t, p, nil, asking("shop", "new", number)).Response.Warnings, "\n")
	}
	check := func(what, number, says string) {
		t.Helper()
		if got := warns(number); says == "" && strings.Contains(got, "no port") || !strings.Contains(got, says) {
			t.Errorf("%s: %s gives %q", what, number, got)
		}
	}
	keep(t, stores["listenersets"].Add(set.DeepCopy()))
	keep(t, stores["tcproutes"].Add(held.DeepCopy()))
	keep(t, stores["gateways"].Add(edge.DeepCopy()))
	check("without a namespace", "9000", "shop")
	keep(t, stores["namespaces"].Add(shop.DeepCopy()))
	check("with the namespace", "9000", "")
	check("with a route", "9001", "9001/TCP")
	check("with a ListenerSet", "9003", "9003/TCP")
	keep(t, stores["listenersets"].Delete(set.DeepCopy()))
	check("without the ListenerSet", "9003", "")
	keep(t, stores["tcproutes"].Replace(nil, "2"))
	check("without the route", "9001", "")
	shop.Labels = nil
	keep(t, stores["namespaces"].Update(shop.DeepCopy()))
	check("the namespace isn't allowed any more", "9000", "shop")
	keep(t, stores["gateways"].Delete(edge.DeepCopy()))
	check("without the Gateway", "9000", "there is no Gateway")
	if len(index.entries) > 0 || len(index.muxes) > 0 {
		t.Errorf("left in the index: %s", fmt.Sprint(index.entries, index.muxes))
	}
}
