package allocate

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

// TestPromisesOfTheAllocator plays histories. People change Gateways, routes, namespaces, ListenerSets and ledgers, and
// the allocator follows with caches that are stale, writes that fail or whose answer is lost, crashes between two
// writes, and restarts. The judge checks each write. Once nothing is left to do, all objects must be as the reference
// says.
func TestPromisesOfTheAllocator(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHistory(r)
		for range rapid.IntRange(1, 40).Draw(r, "deeds") {
			h.deed()
			for range rapid.IntRange(0, 4).Draw(r, "passes") {
				h.something()
			}
			if h.chance("rest", 30) {
				h.rest()
			}
		}
		h.rest()
		h.rebuildFrom = h.now
		h.stage.restart()
		before := h.api.Wrote
		h.rest()
		knowsAll := len(h.judge.harmed) == 0 // a new process knows less of a frozen Gateway whose ledger is lost
		h.checkf(h.api.Wrote == before || !knowsAll, "quiet: a process that starts makes %d writes, though nothing changed",
			h.api.Wrote-before)
	})
}

// history is a stage whose people and faults are drawn.
type history struct {
	*stage
	r      *rapid.T
	isCalm bool // no write fails
	// copies are backups of ledgers.
	copies []*corev1.ConfigMap
}

func newHistory(r *rapid.T) *history {
	h := &history{stage: newStage(r), r: r}
	h.api.Answer = h.answer
	if h.chance("furnished", 80) {
		h.put(&gatewayv1.Gateway{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge",
				Annotations: map[string]string{h.keys.PortRange: "20000-20003"}},
			Spec: gatewayv1.GatewaySpec{
				Listeners: []gatewayv1.Listener{{Name: "web", Port: 20001, Protocol: gatewayv1.HTTPProtocolType}},
				AllowedListeners: &gatewayv1.AllowedListeners{
					Namespaces: &gatewayv1.ListenerNamespaces{From: ptr.To(gatewayv1.NamespacesFromAll)}},
			},
		})
	}
	return h
}

func edgeYes() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"edge": "yes"}}
}

func (h *history) chance(what string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(h.r, what) <= percent
}

func pick[T any](h *history, what string, from ...T) T {
	return rapid.SampledFrom(from).Draw(h.r, what)
}

// answer draws what happens to a write.
func (h *history) answer(before, after client.Object) (bool, error) {
	object := after
	if after == nil {
		object = before
	}
	switch fate := rapid.IntRange(1, 100).Draw(h.r, "fate"); {
	case h.isDead:
		return false, gatewaytest.ErrNoAnswer
	case h.isCalm || fate > 15:
		return true, nil
	case fate <= 4:
		h.note("  the process crashes")
		h.isDead = true
		return false, gatewaytest.ErrNoAnswer
	case fate <= 8:
		h.note("  an answer is lost")
		return true, gatewaytest.ErrNoAnswer
	case fate <= 11:
		return false, apierrors.NewConflict(corev1.Resource(gatewaytest.KindOf(object)), object.GetName(),
			errors.New("it was modified"))
	}
	return false, gatewaytest.ErrNoAnswer
}

// restart begins a process. The process may have to wait before it rebuilds a ledger, and its cache may lack routes at
// first.
func (h *history) restart() {
	h.rebuildFrom = h.now.Add(pick(h, "rebuilds after", 0, 0, 15*time.Second))
	h.stage.restart()
	if h.chance("incomplete cache", 40) {
		kind := pick(h, "missing", read.TCPRoute, read.TCPRoute, read.UDPRoute)
		h.note("its cache lacks each %s", kind)
		clear(h.cache.Objects[kind])
	}
}

// rest lets the process work until nothing is left to do. No write fails meanwhile.
func (h *history) rest() {
	h.isCalm = true
	h.stage.rest()
	h.isCalm = false
}

// something makes one random step: of the process, of time, or of the garbage collector.
func (h *history) something() {
	switch {
	case h.chance("collect", 5):
		h.api.Collect()
	case h.chance("time", 5):
		h.now = h.now.Add(pick(h, "passes by", 2*time.Second, time.Minute))
	case h.chance("deliver", 50):
		h.deliver(pick(h, "kind", h.api.Kinds()...))
	default:
		for _, queue := range rapid.Permutation([]string{"gateway", "route"}).Draw(h.r, "queues") {
			if waiting := h.waiting(queue); len(waiting) > 0 {
				h.reconcile(queue, pick(h, "key", waiting...))
				break
			}
		}
		if h.isDead {
			h.restart()
		}
	}
}
