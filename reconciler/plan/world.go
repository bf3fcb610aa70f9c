package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// World is all that a decision about one mux is made from.
type World struct {
	Now  time.Time
	Keys validation.Keys
	// Key names the mux, also where there is none.
	Key types.NamespacedName
	// Mux is nil if there is no such Service, or it isn't a mux, or not any more.
	Mux *ObservedMux
	// Channels are those that name the mux.
	Channels []ObservedChannel
	Ledger   Reading
	// RebuildFrom is when this process may rebuild a ledger that is lost; zero if it may at once.
	RebuildFrom time.Time
	// LastGood is the ledger that was last in force here; what is frozen is carried on by it.
	LastGood *Ledger
	// Records says which channel our own slices carry under a port name of the mux.
	Records map[string]types.NamespacedName
	// Live is what live reads said of owners of claims that aren't among Channels.
	Live map[types.NamespacedName]Liveness
	// Refused are channels whose ports the API server didn't take, with its words.
	Refused map[types.NamespacedName]string
	// Unpublished are the ports of those that it didn't take. Their claims may be in the ledger already.
	Unpublished map[types.NamespacedName][]Slot
	// Stuck are channels whose address couldn't be taken off: their ports stay until it is.
	Stuck map[types.NamespacedName]bool
	// Blocked is set while the API server doesn't take what is written for the whole mux.
	Blocked *Blocked
	// Contested is until when the mux isn't put right, because somebody keeps changing it back; zero if it may be.
	Contested time.Time
	// Frozen is what froze the mux when it was decided about last; empty if nothing did, or if that isn't known.
	Frozen string
	// Limited are namespaces whose channels changed their ports too often, and when they may do so again.
	Limited map[string]time.Time
	// InPlace is what this process has seen in place as decided, by channel, and under Key for the mux itself. What
	// differs now though the decision is the same was changed by somebody else.
	InPlace map[types.NamespacedName]Fingerprint
}

// Blocked says what the API server didn't take of a mux, whichever channels it is for, and in which words.
type Blocked struct {
	// Ledger is true for its ledger, false for its ports.
	Ledger bool
	Words  string
}

// Liveness is what a live read said of a channel that the cache doesn't show.
type Liveness uint8

// Unasked claims aren't released; nor are those of a Service that is Present, or that can't be read.
const (
	Unasked Liveness = iota
	Gone             // there is no such Service, or it is no channel of this mux
	Present
)

// ObservedMux is a mux as it is.
type ObservedMux struct {
	validation.Mux
	Problems []validation.Problem
	Excesses []validation.Problem
	Warnings []validation.Problem
	// Address is what its provider gave it.
	Address []corev1.LoadBalancerIngress
	// DeclaresPlaceholder is true if whoever applies the mux declares the placeholder port.
	DeclaresPlaceholder bool
	Leftovers           validation.Leftovers
}

// ObservedChannel is a channel as it is.
type ObservedChannel struct {
	validation.Channel
	Problems   []validation.Problem
	Address    []corev1.LoadBalancerIngress
	Conditions []metav1.Condition
	// PortsNote is the ports annotation to the letter.
	PortsNote string
	Leftovers validation.Leftovers
	Backends  Backing
	// RefusedSlices are the API server's words about a slice of the channel's backends; empty if it takes them all.
	RefusedSlices string
}

// Backing is whether a channel has backends that the mux can reach.
type Backing uint8

// The states of backing. Unknown leaves what was said before.
const (
	Unknown Backing = iota
	Unbacked
	Backed
	// OtherFamily is a channel all of whose backends have addresses of a family that the mux hasn't.
	OtherFamily
	// NotCarried is a channel that has a ready backend, and none on the mux.
	NotCarried
)

// Condition is what was found when the ledger was read.
type Condition uint8

// Missing must come from a live read: a cache may be behind. All from Unreadable on freeze the mux.
const (
	Good Condition = iota
	// Edited is well-formed, and wasn't written by us as it is.
	Edited
	Missing
	Unreadable
	// Foreign is another mux's, or no ledger at all.
	Foreign
	// Newer is from a version of ours that isn't out yet.
	Newer
)

// Reading is a ledger as it was read.
type Reading struct {
	Condition Condition
	Ledger    Ledger // if Good or Edited
	// Name is the ConfigMap's.
	Name string
	// Moved is true if it is still under another name than the one that the mux's owner wants.
	Moved bool
	// Unlabelled is true if it says what we wrote, and lacks a label by which caches find it.
	Unlabelled bool
	// Why says what is wrong with one that freezes, and the way out.
	Why string
}
