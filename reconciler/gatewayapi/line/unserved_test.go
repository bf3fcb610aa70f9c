package line

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/validation"
)

// unserved is an API server with the Gateway shop/edge, and a process that serves other namespaces. The process reads
// the cache.
type unserved struct {
	api   *gatewaytest.Server
	cache *gatewaytest.Shelf
	line  *serving
	told  *record.FakeRecorder
	now   time.Time
}

func newUnserved(t *testing.T, class gatewayv1.ObjectName, said ...metav1.Condition) *unserved {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	u := &unserved{api: &gatewaytest.Server{Shelf: gatewaytest.NewShelf()}, told: record.NewFakeRecorder(10), now: at(0)}
	u.api.Answer = func(_, _ client.Object) (bool, error) { return true, nil }
	u.api.Judge = func(_, _ client.Object) {}
	keys := language.Keys()
	u.cache = u.api.Shelf
	u.api.Put(&gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "mux"},
		Spec: gatewayv1.GatewayClassSpec{ControllerName: read.ControllerName(&keys)}}, true)
	u.api.Put(&gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "other"},
		Spec: gatewayv1.GatewayClassSpec{ControllerName: foreign2}}, true)
	gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge",
		CreationTimestamp: metav1.NewTime(u.now.Add(-time.Minute))}}
	gateway.Spec.GatewayClassName = class
	gateway.Status.Conditions = said
	u.api.Put(gateway, true)
	w := gatewaytest.Writer{Server: u.api}
	u.line = &serving{Options: &Options{Language: language, Name: "svc-mux/lease",
		Namespaces: []string{"infra", "svc-mux"}, Board: NewBoard(keys), Events: u.told,
		Now: func() time.Time { return u.now }, Log: logr.Discard(), WritesAtOnce: 1, WritesOfAPass: 100}, keys: keys,
		cache: u.cache, live: w, write: w,
		templates: map[string]template{}, passed: map[client.ObjectKey]bool{}, paces: pace.New[client.ObjectKey]()}
	return u
}

func (u *unserved) gateway() *gatewayv1.Gateway {
	return gatewaytest.Get[*gatewayv1.Gateway](u.api.Shelf, "shop", "edge")
}

// accepted returns status, reason and message of the condition Accepted.
func (u *unserved) accepted() string {
	c := meta.FindStatusCondition(u.gateway().Status.Conditions, "Accepted")
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

func (u *unserved) pass(t *testing.T) time.Duration {
	t.Helper()
	again, err := u.line.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(u.gateway())})
	if err != nil {
		t.Fatal(err)
	}
	return again.RequeueAfter
}

const unservedText = "the reconciler svc-mux/lease serves Gateways in infra, svc-mux alone, and Gateway shop/edge " +
	"isn't there: make the Gateway in one of those namespaces, or have that reconciler serve namespace shop too " +
	"(rbac.muxNamespaces of the chart, --mux-namespaces)"

func TestUnservedGatewayIsReported(t *testing.T) {
	condition := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: "Accepted", Status: status, Reason: reason, Message: message}
	}
	const want = "False MuxNotServed: " + unservedText
	for name, test := range map[string]struct {
		class gatewayv1.ObjectName
		said  []metav1.Condition
		want  string // empty: nothing is written
	}{
		"no status": {"mux", nil, want},
		"the default of the CRD": {"mux", []metav1.Condition{condition("Unknown", "Pending", "Waiting for controller")},
			want},
		"our report for other namespaces": {"mux", []metav1.Condition{
			condition("False", "MuxNotServed", "the reconciler svc-mux/lease serves Gateways in infra alone")}, want},
		"another release's report": {"mux", []metav1.Condition{
			condition("False", "MuxNotServed", "the reconciler svc-mux/lease-2 serves Gateways in infra alone")}, ""},
		"another release serves it": {"mux", []metav1.Condition{condition("True", "Accepted", "")}, ""},
		"another release refuses it": {"mux",
			[]metav1.Condition{condition("False", "MuxNameTaken", "Service shop/gateway-edge is there")}, ""},
		"another controller's class": {"other", nil, ""},
		"a missing class":            {"nothing", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnserved(t, test.class, test.said...)
			before := u.accepted()
			again := u.pass(t)
			if test.want == "" {
				if u.api.Wrote > 0 || u.accepted() != before || len(u.told.Events) > 0 {
					t.Fatalf("%d writes: %s", u.api.Wrote, u.accepted())
				}
				return
			}
			c := meta.FindStatusCondition(u.gateway().Status.Conditions, "Programmed")
			if u.accepted() != test.want || again != 0 || c == nil || c.Status != metav1.ConditionFalse ||
				c.ObservedGeneration != u.gateway().Generation {
				t.Fatalf("got %s, %v", u.accepted(), c)
			}
			if event := <-u.told.Events; event != "Warning MuxNotServed "+unservedText {
				t.Errorf("Event %s", event)
			}
			u.pass(t)
			if u.api.Wrote != 1 || len(u.told.Events) > 0 {
				t.Errorf("quiet: %d writes", u.api.Wrote)
			}
		})
	}
}

// TestNewUnservedGatewayIsLeftToOthers: another release has time to write the status first.
func TestNewUnservedGatewayIsLeftToOthers(t *testing.T) {
	u := newUnserved(t, "mux")
	u.now = u.gateway().CreationTimestamp.Add(time.Second)
	if again := u.pass(t); again != othersPatience-time.Second || u.api.Wrote > 0 {
		t.Fatalf("%d writes, the next pass in %s", u.api.Wrote, again)
	}
	u.now = u.now.Add(othersPatience - time.Second)
	if again := u.pass(t); again != 0 || u.api.Wrote != 1 {
		t.Fatalf("%d writes, the next pass in %s", u.api.Wrote, again)
	}
}

// TestStaleCacheOverwritesNoStatus: another release writes the status before the cache shows it.
func TestStaleCacheOverwritesNoStatus(t *testing.T) {
	u := newUnserved(t, "mux")
	u.cache = gatewaytest.NewShelf()
	for _, kind := range u.api.Kinds() {
		for _, object := range u.api.Objects[kind] {
			u.cache.Set(object)
		}
	}
	u.line.cache = u.cache
	theirs := u.gateway().DeepCopy()
	theirs.Status.Conditions = []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"}}
	u.api.Put(theirs, false)
	if again := u.pass(t); again != behindPause || u.api.Wrote > 0 || !strings.HasPrefix(u.accepted(), "True") {
		t.Fatalf("%d writes: %s", u.api.Wrote, u.accepted())
	}
}
