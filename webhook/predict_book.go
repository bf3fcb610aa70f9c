package webhook

import (
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// holds is for how long a conclusion holds though its page has changed, in times of what it cost beyond cheap. One about
// 500 channels is mostly new, and one about 10,000 a second or two behind: else a burst of changes, each of which is
// reviewed, would conclude them all again each time. No channel, and no port, costs more than share: a conclusion that took
// longer had to wait for a machine that was busy with something else, and one about 200 of them is always new.
const (
	holds = 10
	cheap = 10 * time.Millisecond
	share = 50 * time.Microsecond
)

// book holds what Services say of muxes and channels, a page for each mux. A reflector writes it: Services are parsed as
// they come, and nothing is kept of those that are neither. What is concluded from a page is kept with it until the page
// changes.
type book struct {
	lang validation.Language
	now  func() time.Time
	// read is told once all Services have come.
	read  func()
	holds int

	mu      sync.Mutex
	entries map[types.NamespacedName]entry
	pages   map[types.NamespacedName]*page
}

// entry is a Service: a mux, a channel, by mistake both, or neither.
type entry struct {
	mux     *plan.ObservedMux
	channel *plan.ObservedChannel
}

func (e *entry) empty() bool { return e.mux == nil && e.channel == nil }

// page is a mux, which may be missing, and the channels that name it.
type page struct {
	mux      *plan.ObservedMux
	channels map[types.NamespacedName]*plan.ObservedChannel
	version  int // counts changes
	memo     *memo
}

// memo is what was concluded from a page. Whoever finds it unfinished waits for it.
type memo struct {
	version int
	done    chan struct{}
	outlook *plan.Outlook // nil if that failed
	until   time.Time     // when it has held long enough
}

func newBook(lang validation.Language, now func() time.Time, read func()) *book {
	return &book{
		lang: lang, now: now, read: read, holds: holds,
		entries: map[types.NamespacedName]entry{}, pages: map[types.NamespacedName]*page{},
	}
}

// outlook is what a mux looks like, or would if it were there. Who asks after a change concludes it, and those who ask
// meanwhile get the same: it may be a change older than their question, and costs them no time of their own.
func (b *book) outlook(mux types.NamespacedName) *plan.Outlook {
	b.mu.Lock()
	p := b.pages[mux]
	if p == nil {
		b.mu.Unlock()
		return plan.Survey(b.world(mux, &page{}))
	}
	start := b.now()
	if m := p.memo; m != nil && (m.version == p.version || !m.finished() || start.Before(m.until)) {
		b.mu.Unlock()
		<-m.done
		return m.outlook
	}
	m := &memo{version: p.version, done: make(chan struct{})}
	p.memo = m
	world := b.world(mux, p)
	b.mu.Unlock()
	defer close(m.done)
	m.outlook = plan.Survey(world)
	now := b.now()
	cost := min(now.Sub(start), time.Duration(weight(&world))*share)
	m.until = now.Add((cost - cheap) * time.Duration(b.holds))
	return m.outlook
}

// weight is how many channels and ports there are to look at.
func weight(w *plan.World) int {
	n := len(w.Channels)
	if w.Mux != nil {
		n += len(w.Mux.Ports)
	}
	for i := range w.Channels {
		n += len(w.Channels[i].Ports)
	}
	return n
}

func (m *memo) finished() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

func (b *book) world(mux types.NamespacedName, p *page) plan.World {
	w := plan.World{
		Now: b.now(), Keys: b.lang.Keys(), Key: mux, Mux: p.mux,
		Channels: make([]plan.ObservedChannel, 0, len(p.channels)),
	}
	for _, channel := range p.channels {
		w.Channels = append(w.Channels, *channel)
	}
	return w
}

// set enters a Service. What changes nothing that is decided from, such as a status, leaves conclusions as they are.
func (b *book) set(key types.NamespacedName, is entry) {
	was := b.entries[key]
	if reflect.DeepEqual(was, is) {
		return
	}
	if is.empty() {
		delete(b.entries, key)
	} else {
		b.entries[key] = is
	}
	if was.mux != nil || is.mux != nil {
		p := b.page(key)
		p.mux = is.mux
		b.turn(key, p)
	}
	if c := was.channel; c != nil {
		p := b.page(c.Mux)
		delete(p.channels, key)
		b.turn(c.Mux, p)
	}
	if c := is.channel; c != nil {
		p := b.page(c.Mux)
		p.channels[key] = c
		b.turn(c.Mux, p)
	}
}

func (b *book) page(mux types.NamespacedName) *page {
	p := b.pages[mux]
	if p == nil {
		p = &page{channels: map[types.NamespacedName]*plan.ObservedChannel{}}
		b.pages[mux] = p
	}
	return p
}

// turn counts a change, and drops a page that has nothing on it any more.
func (b *book) turn(mux types.NamespacedName, p *page) {
	p.version++
	if p.mux == nil && len(p.channels) == 0 {
		delete(b.pages, mux)
	}
}
