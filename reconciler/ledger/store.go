package ledger

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/validation"
)

// Store reads and writes ledgers. It is safe for several muxes at once. For each mux, only one goroutine at a time may
// call Read or Write; any goroutine may call Peek.
//
// The cache holds names and versions of ConfigMaps, and no contents (see record.Selector, Object and Trim): otherwise
// anybody who may write ConfigMaps could fill the memory. So the store reads each version live once, and remembers it,
// as it remembers its own writes:
//
//	cache ──▶ is the remembered version at least as new? ────no──┐
//	               │yes                                          ├──▶ live read
//	               ▼                                             │
//	          is it good news? ──no──────────────────────────────┘
//	               │yes
//	               ▼
//	              done
//
// Bad news is a ledger that can't be read, is older than the mux's stamp, or has no claims though the mux has ports.
// The cache may be stale, so the store believes bad news only after a live read. While a mux is well and nothing
// changes, the store sends no request.
type Store struct {
	keys   validation.Keys
	cache  client.Reader
	live   client.Reader
	writer client.Writer

	// unpacking lets one large ledger be decompressed at a time: several at once could fill the memory.
	unpacking sync.Mutex

	mu     sync.Mutex
	newest map[place]*reading
}

// NewStore returns a store that reads versions from a cache, and contents live.
func NewStore(keys validation.Keys, cache, live client.Reader, writer client.Writer) *Store {
	return &Store{keys: keys, cache: cache, live: live, writer: writer, newest: map[place]*reading{}}
}

// Ask names the ledger of a mux, and says what a good ledger has according to the mux.
type Ask = record.Ask

// Entry is a ledger as it was read or written, and what the next write needs.
type Entry struct {
	plan.Reading
	// Unseen is true for a ledger that exists and that the cache doesn't show. If such a ledger is deleted, perhaps no
	// event comes.
	Unseen bool

	ask Ask
	at  *version // what the next write replaces; nil if it creates the ConfigMap
	old *version // the ConfigMap that held the ledger before the mux's owner wanted another name
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

// notBefore is true if v is the given resourceVersion or a later one. It is false if the two can't be compared, which
// happens with no API server that we know.
func (v version) notBefore(resourceVersion string) bool {
	order, err := resourceversion.CompareResourceVersion(v.resourceVersion, resourceVersion)
	return err == nil && order >= 0
}

// place is where a mux may have its ledger.
type place struct {
	mux  types.NamespacedName
	name string
}

// reading is a decoded version. The store keeps it, because decoding thousands of claims takes longer than a pass. The
// store never changes it.
type reading struct {
	record.Read
	at version
}

// read returns nil for nil.
func (r *reading) read() *record.Read {
	if r == nil {
		return nil
	}
	return &r.Read
}

// Forget drops what the store remembers of a mux that is gone.
func (s *Store) Forget(mux types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := range s.newest {
		if at.mux == mux {
			delete(s.newest, at)
		}
	}
}

func (s *Store) recall(at place) *reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest[at]
}

func (s *Store) forget(at place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.newest, at)
}

// decode decodes a ConfigMap, unless the store remembers this version.
func (s *Store) decode(cm *corev1.ConfigMap, mux types.NamespacedName) *reading {
	at, version := place{mux, cm.Name}, versionOf(cm)
	if known := s.recall(at); known != nil && known.at == version {
		return known
	}
	if len(cm.BinaryData[record.PackedKey]) > 0 {
		s.unpacking.Lock()
		defer s.unpacking.Unlock()
	}
	return s.remember(mux, &reading{record.ReadOf(cm, mux, s.keys), version})
}

// remember keeps a reading unless the store knows a newer version: reads of a pass and of the console may overtake each
// other.
func (s *Store) remember(mux types.NamespacedName, read *reading) *reading {
	at := place{mux, read.at.name}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.newest[at]; known == nil || read.at.notBefore(known.at.resourceVersion) {
		s.newest[at] = read
	}
	return read
}
