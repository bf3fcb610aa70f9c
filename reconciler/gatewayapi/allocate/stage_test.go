package allocate

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fakes "k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/validation"
)

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
}

// stage is an API server, and a process with its caches. Its passes and its watches are the real ones.
type stage struct {
	t        tester
	language validation.Language
	keys     validation.Keys
	api      *gatewaytest.Server
	cache    *gatewaytest.Shelf
	line     *line
	now      time.Time
	// todo are the keys in the queues of the controllers.
	todo map[string]map[types.NamespacedName]bool
	// later are Gateways that are looked at again after a while.
	later map[types.NamespacedName]bool
	// isDead is true once the process has crashed: no write of it arrives any more.
	isDead bool
	// rebuildFrom is when the process may rebuild a lost ledger.
	rebuildFrom time.Time
	judge       judge
	log         []string
}

func newStage(t tester) *stage {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatalf("%v", err)
	}
	s := &stage{t: t, language: language, keys: language.Keys(), api: &gatewaytest.Server{Shelf: gatewaytest.NewShelf()},
		now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	s.judge = newJudge(s)
	s.api.Answer = func(client.Object, client.Object) (bool, error) { return true, nil }
	s.api.Judge = s.judge.write
	for _, namespace := range namespaces() {
		s.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	s.restart()
	return s
}

func namespaces() []string { return []string{"bank", "infra", "shop"} }

func (s *stage) note(format string, args ...any) { s.log = append(s.log, fmt.Sprintf(format, args...)) }

func (s *stage) checkf(is bool, format string, args ...any) {
	s.t.Helper()
	if !is {
		s.t.Fatalf("%s\n%s", strings.Join(s.log, "\n"), fmt.Sprintf(format, args...))
	}
}

// put stores an object as people do.
func (s *stage) put(object client.Object) {
	if s.api.At(object) == nil {
		s.now = s.now.Add(time.Second)
		object.SetCreationTimestamp(metav1.NewTime(s.now))
	}
	s.note("people put %s %s: %s", gatewaytest.KindOf(object), client.ObjectKeyFromObject(object), textOf(object))
	s.api.Put(object, true)
	s.judge.deed()
}

func (s *stage) drop(object client.Object) {
	s.note("people delete %s %s", gatewaytest.KindOf(object), client.ObjectKeyFromObject(object))
	s.api.Drop(object)
	s.judge.deed()
}

// restart begins a process: its cache is current, and all objects wake it.
func (s *stage) restart() {
	s.note("a process starts")
	s.isDead = false
	s.cache = gatewaytest.NewShelf()
	s.todo, s.later = map[string]map[types.NamespacedName]bool{"gateway": {}, "route": {}}, map[types.NamespacedName]bool{}
	w := gatewaytest.Writer{Server: s.api}
	options := &Options{Language: s.language, Events: nobody{}, Budget: budget.Limit{},
		RebuildFrom: func() time.Time { return s.rebuildFrom }, Now: func() time.Time { return s.now },
		Log: logr.Discard(), WritesAtOnce: 1} // in one order, so that a history can be played again
	s.line = &line{Options: options, keys: s.keys, kinds: run.Kinds{"Gateway", "ListenerSet", "TCPRoute", "UDPRoute"},
		cache: s.cache, live: w, write: w,
		store: ledger.NewStore(s.keys, s.cache, w, w), memories: map[types.NamespacedName]*memory{}}
	s.checkf(s.line.index(s.t.Context(), s.cache) == nil, "no index")
	for _, kind := range s.api.Kinds() {
		s.deliver(kind)
	}
}

// nobody is a recorder that drops the Events.
type nobody struct{ fakes.EventRecorder }

func (nobody) Event(_ runtime.Object, _, _, _ string) {}

// deliver lets the cache of a kind catch up, and wakes the Gateways and routes that the changes concern, as the watches
// do.
func (s *stage) deliver(kind string) {
	is := maps.Clone(s.api.Objects[kind])
	if kind == "ConfigMap" {
		kind, is = "PartialObjectMetadata", s.ledgersInCache()
	}
	before := s.cache.Objects[kind]
	s.cache.Objects[kind] = is
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
			for _, gateway := range s.line.gatewaysOf(s.t.Context(), object) {
				s.todo["gateway"][gateway] = true
			}
			for _, route := range s.line.strayOf(s.t.Context(), object) {
				s.todo["route"][route] = true
			}
		}
	}
}

// ledgersInCache are the ConfigMaps as the cache holds them.
func (s *stage) ledgersInCache() map[types.NamespacedName]client.Object {
	all := map[types.NamespacedName]client.Object{}
	for _, cm := range gatewaytest.Of[*corev1.ConfigMap](s.api.Shelf) {
		if record.Selector().Matches(labels.Set(cm.Labels)) {
			shown := ledger.Object()
			cm.ObjectMeta.DeepCopyInto(&shown.ObjectMeta)
			ledger.Trim(shown, s.keys)
			all[client.ObjectKeyFromObject(cm)] = shown
		}
	}
	return all
}

func (s *stage) waiting(queue string) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(s.todo[queue]), plan.CompareKeys)
}

func (s *stage) reconcile(queue string, key types.NamespacedName) {
	delete(s.todo[queue], key)
	pass := map[string]reconcile.Func{"gateway": s.line.Reconcile, "route": s.line.reconcileStray}[queue]
	s.note("pass: %s %s", queue, key)
	copies := map[client.Object]client.Object{}
	for _, all := range s.cache.Objects {
		for _, object := range all {
			copies[object], _ = object.DeepCopyObject().(client.Object)
		}
	}
	result, err := pass(s.t.Context(), reconcile.Request{NamespacedName: key})
	switch {
	case err != nil || result.RequeueAfter > 0 && result.RequeueAfter < time.Second:
		s.todo[queue][key] = true
	case result.RequeueAfter > 0:
		s.later[key] = true
	}
	for object, was := range copies {
		s.checkf(reflect.DeepEqual(object, was), "not ours, not touched: a pass changes the cached %s %s",
			gatewaytest.KindOf(object), object.GetName())
	}
}

// settle lets the process work until nothing is left to do, also after all pauses.
func (s *stage) settle() {
	wrote := -1
	for range 300 {
		for _, kind := range s.api.Kinds() {
			s.deliver(kind)
		}
		isIdle := true
		for _, queue := range []string{"gateway", "route"} {
			for _, key := range s.waiting(queue) {
				isIdle = false
				s.reconcile(queue, key)
			}
		}
		switch {
		case !isIdle:
		case wrote == s.api.Wrote: // no write since all pauses were over
			s.note("nothing is left to do")
			return
		default:
			wrote = s.api.Wrote
			s.now = s.now.Add(11 * time.Minute) // longer than each pause, grace and hold
			maps.Copy(s.todo["gateway"], s.later)
			clear(s.later)
		}
	}
	s.checkf(false, "quiet: it doesn't come to rest")
}

// rest lets the process work until nothing is left to do, and compares the result with the reference.
func (s *stage) rest() {
	s.t.Helper()
	s.settle()
	s.atRest()
	s.api.Collect()
	s.judge.forgetDisasters()
}

func (s *stage) route(kind, namespace, name string) *read.Route {
	object := read.NewRoute(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	if is := s.api.At(object); is != nil {
		route, _ := read.RouteOf(is)
		return &route
	}
	return nil
}

// edge is the first Gateway.
func (s *stage) edge() types.NamespacedName {
	return types.NamespacedName{Namespace: "infra", Name: "edge"}
}
