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
	"nowake.ai/svc-lb-mux/reconciler/mux"
	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// mostEntries bounds the timeline: it is for what was just now, and logs are for what was before.
const mostEntries = 500

// Entry is one thing that this process did, or told.
type Entry struct {
	ID int       `json:"id"`
	At time.Time `json:"at"`
	// Kind is decision or event.
	Kind string `json:"kind"`
	// Mux is whom a decision is about, Object whom an Event is about; both as namespace/name.
	Mux     string `json:"mux,omitempty"`
	Object  string `json:"object,omitempty"`
	Warning bool   `json:"warning,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Steps are the first of what was decided to write, of Writes in all; Done is true once they are carried out, and Times
	// is how often the same was decided without being.
	Steps  []view.Step `json:"steps,omitempty"`
	Writes int         `json:"writes,omitempty"`
	Done   bool        `json:"done,omitempty"`
	Times  int         `json:"times,omitempty"`

	changed int // counts with every change of the timeline
}

// Timeline holds the last entries. It is safe for everybody at once.
type Timeline struct {
	now func() time.Time

	mu      sync.Mutex
	last    int
	changes int
	entries []Entry // oldest first
	// open are the decisions that aren't carried out yet, by mux.
	open map[types.NamespacedName]int
	heed func()
}

// NewTimeline returns an empty one.
func NewTimeline(now func() time.Time) *Timeline {
	return &Timeline{now: now, open: map[types.NamespacedName]int{}, heed: func() {}}
}

// onChange has heed called whenever there is something new.
func (t *Timeline) onChange(heed func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heed = heed
}

// Since returns copies of the entries that changed after so many changes, oldest first, and how many there are by now.
func (t *Timeline) Since(changes int) ([]Entry, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	news := []Entry{}
	for i := range t.entries {
		if t.entries[i].changed > changes {
			news = append(news, t.entries[i])
		}
	}
	return news, t.changes
}

func (t *Timeline) add(e Entry) int {
	t.last++
	e.ID, e.At = t.last, t.now().UTC()
	if len(t.entries) >= mostEntries {
		t.entries = slices.Delete(t.entries, 0, mostEntries/10)
	}
	t.entries = append(t.entries, e)
	t.touch(&t.entries[len(t.entries)-1])
	return e.ID
}

func (t *Timeline) touch(e *Entry) {
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
	if before := t.find(t.open[p.Mux]); before != nil && sameSteps(before, &entry) {
		before.Times++
		t.touch(before)
	} else {
		t.open[p.Mux] = t.add(entry)
	}
	heed := t.heed
	t.mu.Unlock()
	heed()
}

func sameSteps(a, b *Entry) bool {
	return a.Writes == b.Writes && slices.EqualFunc(a.Steps, b.Steps, func(a, b view.Step) bool {
		return a.Verb == b.Verb && a.Object == b.Object && slices.Equal(a.Why, b.Why)
	})
}

func (t *Timeline) applied(mux types.NamespacedName) {
	t.mu.Lock()
	if entry := t.find(t.open[mux]); entry != nil {
		entry.Done = true
		t.touch(entry)
	}
	delete(t.open, mux)
	heed := t.heed
	t.mu.Unlock()
	heed()
}

func (t *Timeline) told(about runtime.Object, kind, reason, message string) {
	entry := Entry{Kind: "event", Warning: kind == corev1.EventTypeWarning, Reason: reason, Message: message}
	if object, is := about.(client.Object); is {
		entry.Object = strings.TrimPrefix(client.ObjectKeyFromObject(object).String(), "/")
	}
	t.mu.Lock()
	t.add(entry)
	heed := t.heed
	t.mu.Unlock()
	heed()
}

// Metrics notes decisions on their way to whoever counts them.
func (t *Timeline) Metrics(next mux.Metrics) mux.Metrics { return noting{next, t} }

type noting struct {
	mux.Metrics
	timeline *Timeline
}

func (n noting) Decided(p *plan.Plan, took time.Duration) {
	n.timeline.decided(p)
	n.Metrics.Decided(p, took)
}

func (n noting) Applied(mux types.NamespacedName, took time.Duration) {
	n.timeline.applied(mux)
	n.Metrics.Applied(mux, took)
}

// Events notes Events on their way to the API server.
func (t *Timeline) Events(next record.EventRecorder) record.EventRecorder { return telling{next, t} }

type telling struct {
	record.EventRecorder
	timeline *Timeline
}

func (n telling) Event(about runtime.Object, kind, reason, message string) {
	n.timeline.told(about, kind, reason, message)
	n.EventRecorder.Event(about, kind, reason, message)
}
