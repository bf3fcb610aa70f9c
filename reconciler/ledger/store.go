package ledger

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Store reads and writes ledgers. It may be used for several muxes at once, and for each of them by one at a time.
//
// It reads from a cache that selects ConfigMaps by label (see Selector) and may be behind; so it prefers what it
// knows to be newer, such as what it wrote last, until the cache has caught up. Before bad news is believed, it is read
// live:
//
//	cache ──▶ can it be gone by? ──yes──▶ done
//	               │no                              was this very version read live before, with the same
//	               ▼                                knowledge of the mux? Then once was enough.
//	          live read ──▶ not there ──▶ under another name? ──▶ Moved, or Missing
//
// Bad news are a ledger that isn't there, can't be gone by, is older than the mux's stamp, or has no claims though
// the mux has ports. While all is well, and while nothing changes, no request is made.
type Store struct {
	keys   validation.Keys
	cache  client.Reader
	live   client.Reader
	writer client.Writer

	mu     sync.Mutex
	memory map[types.NamespacedName]memory // by mux
}

// NewStore returns a store that reads from a cache and, past it, live.
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

func versionOf(cm *corev1.ConfigMap) *version {
	return &version{cm.Name, cm.UID, cm.ResourceVersion}
}

// memory is what is known of a mux's ledger beyond the cache.
type memory struct {
	// latest is the newest state of it seen so far, while the cache is behind.
	latest *corev1.ConfigMap
	// read is what the version at is: reading thousands of claims anew takes longer than a pass does.
	read plan.Reading
	at   version
	// confirmed is what was last read live.
	confirmed confirmation
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

// entry reads a ConfigMap, or remembers how it read. What it returns is the caller's.
func (s *Store) entry(cm *corev1.ConfigMap, ask Ask) Entry {
	at := versionOf(cm)
	known := s.recall(ask.Mux)
	if known.at != *at || at.resourceVersion == "" {
		known.read = Decode(cm, ask.Mux, s.keys)
		s.remember(ask.Mux, func(m *memory) { m.read, m.at = known.read, *at })
	}
	reading := known.read
	reading.Ledger = reading.Ledger.Clone()
	return Entry{Reading: reading, ask: ask, at: at}
}
