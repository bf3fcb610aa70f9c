package webhook

import (
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"nowake.ai/svc-lb-mux/reconciler/numbers/forecast"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// A cached outlook stays in use for a while although its mux has changed: for holdFactor times the part of its cost
// that exceeds freeCost. An outlook for 500 channels is mostly current, and one for 10,000 is a second or two old.
// Otherwise, a burst of reviewed changes would compute the outlook again for each change. The counted cost is at most
// maxItemCost for each channel and port: a higher cost means that the machine was busy. So an outlook for 200 channels
// and ports, counted together, is always current.
const (
	holdFactor  = 10
	freeCost    = 10 * time.Millisecond
	maxItemCost = 50 * time.Microsecond
)

// index holds the parsed muxes and channels, by mux. Reflectors write it. Services are parsed when they arrive, and
// those that are neither mux nor channel aren't kept. The outlook of a mux is cached. When the mux or its channels have
// changed, the outlook is computed again, at once or after a while (holdFactor).
type index struct {
	lang validation.Language
	now  func() time.Time
	// absent returns why a Gateway, which is in the index as a mux, gives no numbers; an empty text for Services.
	absent     func(mux types.NamespacedName) string
	holdFactor int

	mu      sync.Mutex
	entries map[types.NamespacedName]entry
	muxes   map[types.NamespacedName]*indexedMux
}

// entry is a parsed Service, Gateway or route: a mux, a channel, by mistake both, or neither.
type entry struct {
	mux     *plan.ObservedMux
	channel *plan.ObservedChannel
}

func (e *entry) empty() bool { return e.mux == nil && e.channel == nil }

// indexedMux is a mux, which may be missing, and the channels that name it.
type indexedMux struct {
	mux      *plan.ObservedMux
	channels map[types.NamespacedName]*plan.ObservedChannel
	version  int // counts changes
	cached   *cachedOutlook
}

// cachedOutlook is the outlook computed from an indexedMux. A reader that finds it unfinished waits for it.
type cachedOutlook struct {
	version int
	done    chan struct{}
	outlook *forecast.Outlook // nil if Survey panicked
	until   time.Time         // until then the outlook is used although the mux has changed
}

func newIndex(lang validation.Language, now func() time.Time) *index {
	return &index{
		lang: lang, now: now, absent: func(types.NamespacedName) string { return "" }, holdFactor: holdFactor,
		entries: map[types.NamespacedName]entry{}, muxes: map[types.NamespacedName]*indexedMux{},
	}
}

// services is the feed of Services.
func (x *index) services(client rest.Interface) feed {
	return feed{client: client, resource: "services", object: &corev1.Service{}, list: func() runtime.Object {
		return &corev1.ServiceList{}
	},
		store: func(read func()) cache.ReflectorStore { return x.store(read) }}
}

func (x *index) store(read func()) *store {
	return &store{mu: &x.mu, read: read, trim: trim, set: func(key types.NamespacedName, object metav1.Object) {
		var is entry
		if svc, ok := object.(*corev1.Service); ok {
			is = readEntry(x.lang, svc)
		}
		x.set(key, is)
	}}
}

// outlook returns the outlook of a mux, which may be missing. The first request after a change computes the outlook,
// unless the cached one is still in use (holdFactor). Concurrent requests wait for the result and share it. It may be
// some changes old.
func (x *index) outlook(mux types.NamespacedName) *forecast.Outlook {
	x.mu.Lock()
	m := x.muxes[mux]
	if m == nil {
		world := x.world(mux, &indexedMux{})
		x.mu.Unlock()
		return forecast.Survey(world)
	}
	start := x.now()
	if cached := m.cached; cached != nil &&
		(cached.version == m.version || !cached.finished() || start.Before(cached.until)) {
		x.mu.Unlock()
		<-cached.done
		return cached.outlook
	}
	cached := &cachedOutlook{version: m.version, done: make(chan struct{})}
	m.cached = cached
	world := x.world(mux, m)
	x.mu.Unlock()
	defer close(cached.done)
	cached.outlook = forecast.Survey(world)
	now := x.now()
	cost := min(now.Sub(start), time.Duration(itemCount(&world))*maxItemCost)
	cached.until = now.Add((cost - freeCost) * time.Duration(x.holdFactor))
	return cached.outlook
}

// itemCount returns the number of channels and ports.
func itemCount(w *plan.World) int {
	n := len(w.Channels)
	if w.Mux != nil {
		n += len(w.Mux.Ports)
	}
	for i := range w.Channels {
		n += len(w.Channels[i].Ports)
	}
	return n
}

func (m *cachedOutlook) finished() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// isOnGateways is true for a mux that is known to be on gateways.
func (x *index) isOnGateways(mux types.NamespacedName) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	m := x.muxes[mux]
	return m != nil && m.mux != nil && m.mux.Pool != ""
}

func (x *index) world(mux types.NamespacedName, m *indexedMux) plan.World {
	w := plan.World{
		Now: x.now(), Keys: x.lang.Keys(), Key: mux, Mux: m.mux,
		Channels: make([]plan.ObservedChannel, 0, len(m.channels)),
	}
	if m.mux == nil {
		w.Absent = x.absent(mux)
	}
	for _, channel := range m.channels {
		w.Channels = append(w.Channels, *channel)
	}
	return w
}

// set stores an entry. If nothing has changed that a decision depends on (only the status, for example), the cached
// outlook stays current.
func (x *index) set(key types.NamespacedName, is entry) {
	was := x.entries[key]
	if reflect.DeepEqual(was, is) {
		return
	}
	if is.empty() {
		delete(x.entries, key)
	} else {
		x.entries[key] = is
	}
	if was.mux != nil || is.mux != nil {
		m := x.entryOf(key)
		m.mux = is.mux
		x.changed(key, m)
	}
	if c := was.channel; c != nil {
		m := x.entryOf(c.Mux)
		delete(m.channels, key)
		x.changed(c.Mux, m)
	}
	if c := is.channel; c != nil {
		m := x.entryOf(c.Mux)
		m.channels[key] = c
		x.changed(c.Mux, m)
	}
}

func (x *index) entryOf(mux types.NamespacedName) *indexedMux {
	page := x.muxes[mux]
	if page == nil {
		page = &indexedMux{channels: map[types.NamespacedName]*plan.ObservedChannel{}}
		x.muxes[mux] = page
	}
	return page
}

// changed counts a change of a mux or of its channels. It drops the mux if it doesn't exist and has no channels.
func (x *index) changed(mux types.NamespacedName, m *indexedMux) {
	m.version++
	if m.mux == nil && len(m.channels) == 0 {
		delete(x.muxes, mux)
	}
}
