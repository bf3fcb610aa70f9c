package console

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/services"
)

// maxEntries limits the timeline: it shows the recent past; logs have the rest.
const maxEntries = 500

// Entry is a decision of this process, or an Event that it sent.
type Entry struct {
	ID int       `json:"id"`
	At time.Time `json:"at"`
	// Kind is decision or event.
	Kind string `json:"kind"`
	// Mux is the mux of a decision, Object the object of an Event; both as namespace/name.
	Mux     string `json:"mux,omitempty"`
	Object  string `json:"object,omitempty"`
	Warning bool   `json:"warning,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Steps are the first of the decided writes, and Writes is their total number. Done says that they were carried
	// out. Times is how often the same decision was made before it was carried out.
	Steps  []view.Step `json:"steps,omitempty"`
	Writes int         `json:"writes,omitempty"`
	Done   bool        `json:"done,omitempty"`
	Times  int         `json:"times,omitempty"`

	changed int // the timeline's change counter at this entry's last change
}

// Timeline holds the latest entries. It is safe for concurrent use.
type Timeline struct {
	now func() time.Time

	mu      sync.Mutex
	last    int
	changes int
	entries []Entry // oldest first
	// pending are the IDs of the entries whose decisions aren't carried out yet, by mux.
	pending map[types.NamespacedName]int
	notify  func()
}

// NewTimeline returns an empty timeline.
func NewTimeline(now func() time.Time) *Timeline {
	return &Timeline{now: now, pending: map[types.NamespacedName]int{}, notify: func() {}}
}

// onChange sets a function that is called at every change.
func (t *Timeline) onChange(notify func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notify = notify
}

// Since returns copies of the entries changed after the given counter, oldest first, and the current counter.
func (t *Timeline) Since(changes int) ([]Entry, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := []Entry{}
	for i := range t.entries {
		if t.entries[i].changed > changes {
			changed = append(changed, t.entries[i])
		}
	}
	return changed, t.changes
}

func (t *Timeline) add(e Entry) int {
	t.last++
	e.ID, e.At = t.last, t.now().UTC()
	if len(t.entries) >= maxEntries {
		t.entries = slices.Delete(t.entries, 0, maxEntries/10)
	}
	t.entries = append(t.entries, e)
	t.markChanged(&t.entries[len(t.entries)-1])
	return e.ID
}

func (t *Timeline) markChanged(e *Entry) {
	t.changes++
	e.changed = t.changes
}

func (t *Timeline) find(id int) *Entry {
	i, found := slices.BinarySearchFunc(t.entries, id, func(e Entry, id int) int { return e.ID - id })
	if !found {
		return nil
	}
	return &t.entries[i]
}

func (t *Timeline) decided(p *plan.Plan) {
	if p.Empty() {
		return
	}
	steps := p.Steps()
	entry := Entry{Kind: "decision", Mux: p.Mux.String(), Steps: view.Steps(steps), Writes: len(steps), Times: 1}
	t.mu.Lock()
	if before := t.find(t.pending[p.Mux]); before != nil && sameSteps(before, &entry) {
		before.Times++
		t.markChanged(before)
	} else {
		t.pending[p.Mux] = t.add(entry)
	}
	notify := t.notify
	t.mu.Unlock()
	notify()
}

func sameSteps(a, b *Entry) bool {
	return a.Writes == b.Writes && slices.EqualFunc(a.Steps, b.Steps, func(a, b view.Step) bool {
		return a.Verb == b.Verb && a.Object == b.Object && slices.Equal(a.Why, b.Why)
	})
}

func (t *Timeline) applied(mux types.NamespacedName) {
	t.mu.Lock()
	if entry := t.find(t.pending[mux]); entry != nil {
		entry.Done = true
		t.markChanged(entry)
	}
	delete(t.pending, mux)
	notify := t.notify
	t.mu.Unlock()
	notify()
}

func (t *Timeline) emitted(about runtime.Object, kind, reason, message string) {
	entry := Entry{Kind: "event", Warning: kind == corev1.EventTypeWarning, Reason: reason, Message: message}
	switch object := about.(type) {
	case client.Object:
		entry.Object = strings.TrimPrefix(client.ObjectKeyFromObject(object).String(), "/")
	case *corev1.ObjectReference: // of a Gateway or a route
		entry.Object = object.Namespace + "/" + strings.ToLower(object.Kind) + "/" + object.Name
	}
	t.mu.Lock()
	t.add(entry)
	notify := t.notify
	t.mu.Unlock()
	notify()
}

// Metrics returns metrics that record decisions in the timeline and pass them on.
func (t *Timeline) Metrics(next services.Metrics) services.Metrics { return recordingMetrics{next, t} }

type recordingMetrics struct {
	services.Metrics
	timeline *Timeline
}

func (n recordingMetrics) Decided(p *plan.Plan, took time.Duration) {
	n.timeline.decided(p)
	n.Metrics.Decided(p, took)
}

func (n recordingMetrics) Applied(mux types.NamespacedName, took time.Duration) {
	n.timeline.applied(mux)
	n.Metrics.Applied(mux, took)
}

// Events returns a recorder that records Events in the timeline and passes them on.
func (t *Timeline) Events(next record.EventRecorder) record.EventRecorder {
	return recordingEvents{next, t}
}

type recordingEvents struct {
	record.EventRecorder
	timeline *Timeline
}

func (n recordingEvents) Event(about runtime.Object, kind, reason, message string) {
	n.timeline.emitted(about, kind, reason, message)
	n.EventRecorder.Event(about, kind, reason, message)
}
