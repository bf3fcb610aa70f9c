package ledger

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Store reads and writes ledgers. It may be used for several muxes at once, and for each of them by one at a time.
//
// The cache holds no ledgers, just what they are called and at which version they are (see Selector, Object and Trim):
// whoever may write ConfigMaps could fill it otherwise. So a version is read live once, when a mux asks for it, and
// remembered, as is one that was written. The cache may be behind, and what is known to be newer is preferred. Before bad
// news is believed, it is read live:
//
//	cache ──▶ is the version that it shows known, or an older one than that? ──no──┐
//	               │yes                                                            │
//	               ▼                                                               │
//	          can it be gone by? ──yes──▶ done                                     │
//	               │no                              was this very version read     │
//	               │                                live before, with the same     │
//	               ▼                                knowledge of the mux? Then     │
//	          live read ◀──────────────────────────  once was enough. ─────────────┘
//	               │
//	               └──▶ not there ──▶ under another name? ──▶ Moved, or Missing
//
// Bad news are a ledger that isn't there, can't be gone by, is older than the mux's stamp, or has no claims though
// the mux has ports. While nothing changes, no request is made.
//
// If a ledger isn't there, or is older than the mux's stamp, or the mux has none, others are looked at too that say they are this
// mux's, and the highest generation counts: the mux was given another name, or pointed back to one that it had before. If it
// isn't there, they are listed live: to begin anew is to forget. So they are before a new generation is written, once under each
// name: it must be above that of all others.
type Store struct {
	keys   validation.Keys
	cache  client.Reader
	live   client.Reader
	writer client.Writer

	// unfolding is for large ledgers, which are read one after the other: what several take while they are read would be more
	// memory than there is.
	unfolding sync.Mutex

	mu     sync.Mutex
	memory map[types.NamespacedName]memory // by mux
}

// NewStore returns a store that reads versions from a cache, and ledgers live.
func NewStore(keys validation.Keys, cache, live client.Reader, writer client.Writer) *Store {
	return &Store{keys: keys, cache: cache, live: live, writer: writer, memory: map[types.NamespacedName]memory{}}
}

// Ask names a ledger, and says what its mux leads to expect of it.
type Ask struct {
	Mux types.NamespacedName
	// Name is the ConfigMap's: validation.Mux.Ledger.
	Name string
	// Stamp is the generation on the mux: an older ledger isn't all there is.
	Stamp int64
	// PortsLive is true if the mux has ports that may be ours: a ledger without claims has lost them.
	PortsLive bool
}

// Entry is a ledger as it was read, or written, and what a write of it goes by.
type Entry struct {
	plan.Reading
	// Unseen is true of a ledger that is there, and that the cache doesn't show: if it goes, nobody may tell.
	Unseen bool

	ask Ask
	at  *version // where the ledger is; nil if it must be made
	old *version // where it was before its mux gave it another name
}

// version is a ConfigMap at one moment.
type version struct {
	name            string
	uid             types.UID
	resourceVersion string
}

func versionOf(object client.Object) version {
	return version{object.GetName(), object.GetUID(), object.GetResourceVersion()}
}

// memory is what is known of a mux's ledger beyond the cache.
type memory struct {
	// latest is the newest one that was read or written; nil if there is none.
	latest *reading
	// peeked is a newer one that was only looked at.
	peeked *reading
	// confirmed is what was last read live.
	confirmed confirmation
	// searched is the name beside which the API server was asked for others that say they are the mux's, and above is the highest
	// generation of them.
	searched string
	above    int64
}

// reading is how a version read: reading thousands of claims anew takes longer than a pass does. It is never changed.
type reading struct {
	plan.Reading
	at version
}

// confirmation is a version that was read live, and what was expected of it then.
type confirmation struct {
	version
	stamp     int64
	portsLive bool
}

// Forget drops what is remembered of a mux that is gone.
func (s *Store) Forget(mux types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.memory, mux)
}

func (s *Store) recall(mux types.NamespacedName) memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory[mux]
}

func (s *Store) remember(mux types.NamespacedName, change func(*memory)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.memory[mux]
	change(&known)
	s.memory[mux] = known
}

// read reads a ConfigMap, or remembers how it read.
func (s *Store) read(cm *corev1.ConfigMap, ask Ask) *reading {
	at, known := versionOf(cm), s.recall(ask.Mux)
	for _, before := range []*reading{known.latest, known.peeked} {
		if before != nil && before.at == at && at.resourceVersion != "" {
			return before
		}
	}
	if len(cm.BinaryData[PackedKey]) > 0 {
		s.unfolding.Lock()
		defer s.unfolding.Unlock()
	}
	return &reading{Decode(cm, ask.Mux, s.keys), at}
}

// keep has a reading be the latest.
func (s *Store) keep(mux types.NamespacedName, read *reading, also func(*memory)) {
	s.remember(mux, func(m *memory) {
		m.latest, m.peeked = read, nil
		also(m)
	})
}

// copy is a reading that is the caller's.
func (r *reading) copy() plan.Reading {
	own := r.Reading
	own.Ledger = own.Ledger.Clone()
	return own
}

func (r *reading) entry(ask Ask) Entry {
	at := r.at
	return Entry{Reading: r.copy(), ask: ask, at: &at}
}

// covers is true for a reading that is at least as new as what the cache shows.
func (r *reading) covers(shown *metav1.PartialObjectMetadata) bool {
	order, err := resourceversion.CompareResourceVersion(shown.ResourceVersion, r.at.resourceVersion)
	return err == nil && order <= 0 // no API server that we know of writes versions that can't be compared
}
