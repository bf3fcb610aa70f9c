package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// World is the observed state of one mux.
type World struct {
	Now  time.Time
	Keys validation.Keys
	// Key names the mux, even if the mux is missing.
	Key types.NamespacedName
	// Mux is nil if there is no such Service, or it isn't a mux.
	Mux *ObservedMux
	// Absent is the message to channels if there is no mux; if empty, they get the usual one.
	Absent string
	// Channels are those that name the mux.
	Channels []ObservedChannel
	Ledger   Reading
	// RebuildFrom is the time from which this process may rebuild a lost ledger; zero if it may at once.
	RebuildFrom time.Time
	// Records has the channel that our own slices carry, by port name on the mux.
	Records map[string]types.NamespacedName
	// Live has the answers of live reads about channels that have claims and aren't among Channels.
	Live map[types.NamespacedName]Liveness
	// Confirmed names the Services of this World that were read live, because a plan asked to confirm them.
	Confirmed map[types.NamespacedName]bool
	// ListenersUnknown is true while this process doesn't know the listeners of the Gateway that the mux is made for: none
	// of them is among Channels.
	ListenersUnknown bool
	// Unmet is true while this process has never read the mux live: the cache may lack ports that another process
	// published.
	Unmet bool
}

// Memory is what the process remembers of a mux between passes. A pass works without it.
type Memory struct {
	// LastGood is the ledger that was last in force. A frozen mux goes on with it, and a lost ledger is rebuilt from it.
	LastGood *Ledger
	// Refused are channels whose ports the API server refused.
	Refused map[types.NamespacedName]PatchRefusal
	// Stuck are channels whose address couldn't be taken off. Their ports stay until the address is off.
	Stuck map[types.NamespacedName]bool
	// Blocked is set while the API server refuses to store the mux or its ledger.
	Blocked *Blocked
	// ContestedUntil is set if another writer keeps undoing the write that this pass would make: until then, neither the
	// mux nor its ledger is written.
	ContestedUntil time.Time
	// Frozen is the message of the freeze at the last pass; empty if there was none.
	Frozen string
	// LimitedUntil has the namespaces whose channels changed their ports too often, and when they may do so again.
	LimitedUntil map[string]time.Time
}

// PatchRefusal is what the API server said about a channel's ports on the mux.
type PatchRefusal struct {
	Words string
	// Slots are the numbers that the API server refused.
	Slots []Slot
	// Withheld is true if the API server refused to put Slots back that had been on the mux: they stay off it.
	Withheld bool
}

// Blocked says what the API server refused of a mux as a whole, and in which words.
type Blocked struct {
	// Ledger is true if the API server refused the mux's ledger, false if it refused the mux's ports.
	Ledger bool
	Words  string
}

// Liveness is what a live read said of a channel that the cache doesn't show.
type Liveness uint8

// The claims of a channel that the cache lacks are released only if it is Gone. Present is a channel of this mux, or a
// Service that couldn't be read.
const (
	Unasked Liveness = iota
	Gone             // there is no such Service, or it is no channel of this mux
	Present
)

// LedgerState is the state of the ledger as it was read.
type LedgerState uint8

// Missing must come from a live read, because a cache may be stale. Unreadable, Foreign and Newer freeze the mux.
const (
	Good LedgerState = iota
	// Edited is well-formed, but another writer changed it, or it may be out of date: see Reading.Gone.
	Edited
	Missing
	Unreadable
	// Foreign is another mux's ledger, or no ledger at all.
	Foreign
	// Newer was written by a later version of svc-lb-mux.
	Newer
)

// Reading is a ledger as it was read.
type Reading struct {
	Condition LedgerState
	Ledger    Ledger // if Good or Edited
	// Name is the name of the ConfigMap.
	Name string
	// Moved is true if the ledger is still under another name than the mux's owner wants.
	Moved bool
	// Gone is the ConfigMap that the mux names as its ledger, if it doesn't exist: it was deleted, or another writer
	// changed the mux's annotation. Then the ledger that was read counts as Edited: it may be left over from an earlier
	// move.
	Gone string
	// Unlabelled is true if a correct ledger lacks a label by which caches find it.
	Unlabelled bool
	// Why names the fault of a ledger that isn't Good, and the way out.
	Why string
}
