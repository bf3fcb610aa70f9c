package services

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/validation"
)

// TestMuxElsewhereIsMarkedInTheCache: in the cache it is no mux, and its mark causes an Event. An informer may trim an
// object twice.
func TestMuxElsewhereIsMarkedInTheCache(t *testing.T) {
	language := languageOf(t)
	keys := language.Keys()
	line := &Line{Options: Options{Language: language, Namespaces: []string{"edge"}}}
	for name, test := range map[string]struct {
		namespace string
		change    func(*corev1.Service)
		told      bool
	}{
		"a served mux":    {"edge", func(*corev1.Service) {}, false},
		"a mux elsewhere": {"away", func(*corev1.Service) {}, true},
		"a mux elsewhere, of another release": {"away", func(svc *corev1.Service) { annotate(svc, keys.Generation, "7") },
			false},
		"a mux elsewhere that is being deleted": {"away",
			func(svc *corev1.Service) { svc.DeletionTimestamp = &metav1.Time{} }, false},
		"a Service elsewhere": {"away", func(svc *corev1.Service) {
			delete(svc.Annotations, keys.Multiplexer)
		}, false},
		"a Service elsewhere that isn't a mux": {"away", func(svc *corev1.Service) {
			annotate(svc, keys.Multiplexer, "false")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "mux"},
				Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
			annotate(svc, keys.Multiplexer, "true")
			test.change(svc)
			for range 2 {
				line.trim(svc)
				if got := (outside{line}).isUnservedMux(svc); got != test.told {
					t.Errorf("unserved: %v, want %v", got, test.told)
				}
				if isMux := language.Classify(svc) != validation.Stranger; isMux != (test.namespace == "edge") {
					t.Errorf("a mux in the cache: %v", isMux)
				}
			}
		})
	}
}

// TestMuxThatWasServedIsToldOnceAtTheStart: a namespace was taken off --mux-namespaces, which takes a restart. Later
// events of the watch have other causes, such as a new mux that another release serves.
func TestMuxThatWasServedIsToldOnceAtTheStart(t *testing.T) {
	language := languageOf(t)
	keys := language.Keys()
	for name, test := range map[string]struct {
		namespace  string
		generation string
		initial    bool
		told       bool
	}{
		"a mux elsewhere, with a generation":         {"away", "7", true, true},
		"the same, created while the process runs":   {"away", "7", false, false},
		"a mux elsewhere that nobody has written to": {"away", "", true, false}, // told after a pause, by reconcileUnserved
		"a mux of ours": {"edge", "7", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			events := record.NewFakeRecorder(10)
			line := &Line{Options: Options{Language: language, Namespaces: []string{"edge"}, Events: events, Name: "svc-mux"}}
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "mux"},
				Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
			annotate(svc, keys.Multiplexer, "true")
			if test.generation != "" {
				annotate(svc, keys.Generation, test.generation)
			}
			line.trim(svc)
			outside{line}.onUnserved().Create(t.Context(),
				event.TypedCreateEvent[*corev1.Service]{Object: svc, IsInInitialList: test.initial}, ignored{})
			select {
			case got := <-events.Events:
				if !test.told || !strings.HasPrefix(got, "Normal MuxNotServed the reconciler svc-mux serves muxes in edge alone") {
					t.Errorf("it is told %q", got)
				}
			default:
				if test.told {
					t.Error("it is told nothing")
				}
			}
		})
	}
}

// TestAChannelOfAMuxElsewhereIsLookedAt: if no reconciler serves that mux, this one tells the channel's owner.
func TestAChannelOfAMuxElsewhereIsLookedAt(t *testing.T) {
	line := &Line{Options: Options{Language: languageOf(t), Namespaces: []string{"edge"}}}
	for class, want := range map[string]int{"mux.away": 1, "mux.edge": 0} {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "web"}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(validation.DefaultPrefix + "/" + class)}}
		q := &counted{}
		outside{line}.onUnserved().Update(t.Context(),
			event.TypedUpdateEvent[*corev1.Service]{ObjectOld: svc, ObjectNew: svc}, q)
		if q.added != want {
			t.Errorf("channel of %s: looked at %d times, want %d", class, q.added, want)
		}
	}
}

// counted is a queue that counts what is added at once.
type counted struct {
	ignored
	added int
}

func (c *counted) Add(reconcile.Request) { c.added++ }

// ignored is a queue that drops what is added.
type ignored struct{ queue }

func (ignored) Add(reconcile.Request)                     {}
func (ignored) AddAfter(reconcile.Request, time.Duration) {}
