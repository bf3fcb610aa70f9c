package plan

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PortID is what a claim belongs to: a named port of a channel. The protocol is part of it, so that a port that turns
// from TCP to UDP is another one.
type PortID struct {
	Channel  types.NamespacedName
	Name     string
	Protocol corev1.Protocol
}

// Source is how a claim came to its number.
type Source uint8

// A claim's number was asked for, or picked from the mux's range.
const (
	Static Source = iota
	Auto
)

func (s Source) String() string {
	if s == Auto {
		return "auto"
	}
	return "static"
}

// State is where a claim is in its life.
type State uint8

// Held ──▶ Releasing ──▶ InGrace ──▶ gone; from either of them back to Held, if its owner returns.
const (
	// Held is a claim in force. Its port is on the mux unless its channel is disabled.
	Held State = iota
	// Releasing is to be taken off the mux, or has just been.
	Releasing
	// InGrace is off the mux, and its number held for its old owner until Until.
	InGrace
)

func (s State) String() string {
	switch s {
	case Releasing:
		return "releasing"
	case InGrace:
		return "in grace"
	case Held:
	}
	return "held"
}

// Claim says whose a public port is.
type Claim struct {
	Owner PortID
	// Port is the channel port's own number, by which it is known again when it is renamed.
	Port int32
	// Public is the number on the mux; with the owner's protocol, it is claimed once.
	Public int32
	Source Source
	// MuxName is the port's name on the mux: backends go by it.
	MuxName string
	// Since is when the number was given; zero if that isn't known.
	Since time.Time
	State State
	// Until is when a number InGrace is free again.
	Until time.Time
}

// held is true for a claim in force.
func (c *Claim) held() bool { return c.State == Held }

// Slot is a public port: a number under a protocol.
type Slot struct {
	Number   int32
	Protocol corev1.Protocol
}

// Slot returns the public port that is claimed.
func (c *Claim) Slot() Slot { return Slot{c.Public, c.Owner.Protocol} }

// HostnameHolder says which namespace had a DNS name first.
type HostnameHolder struct {
	Hostname  string
	Namespace string
}

// Ledger is what is known for good of a mux: its claims, and who has which DNS name.
type Ledger struct {
	Mux types.NamespacedName
	// MuxUID is the UID of the mux that the claims were last decided for; empty in ledgers of the original and of older versions.
	MuxUID types.UID
	// HeldUntil is until when the numbers of missing channels are held because the mux was created again; zero if they aren't.
	HeldUntil time.Time
	// Provider is the key of the provider whose limits the mux was last decided under; empty if none is known.
	Provider string
	// Generation counts the decisions that changed the mux's ports. The mux carries the one that its ports were
	// decided from; 0 is a ledger that the original wrote.
	Generation int64
	Claims     []Claim          // sorted by public port, then protocol
	Hostnames  []HostnameHolder // sorted by name
}

// Clone returns a ledger that shares nothing with this one.
func (l Ledger) Clone() Ledger {
	l.Claims = slices.Clone(l.Claims)
	l.Hostnames = slices.Clone(l.Hostnames)
	return l
}

// Sort puts claims and names in their order.
func (l *Ledger) Sort() {
	slices.SortFunc(l.Claims, compareClaims)
	slices.SortFunc(l.Hostnames, compareHolders)
}

// sorted is the ledger in its order, whoever wrote it.
func (l Ledger) sorted() Ledger {
	if inOrder(l.Claims) && slices.IsSortedFunc(l.Hostnames, compareHolders) {
		return l
	}
	l = l.Clone()
	l.Sort()
	return l
}

func inOrder(claims []Claim) bool {
	for i := 1; i < len(claims); i++ {
		if byNumber(&claims[i-1], &claims[i]) > 0 {
			return false
		}
	}
	return true
}

func compareHolders(a, b HostnameHolder) int { return cmp.Compare(a.Hostname, b.Hostname) }

func compareClaims(a, b Claim) int { return byNumber(&a, &b) }

func byNumber(a, b *Claim) int {
	if a.Public != b.Public {
		return cmp.Compare(a.Public, b.Public)
	}
	return cmp.Or(cmp.Compare(a.Owner.Protocol, b.Owner.Protocol), compareIDs(a.Owner, b.Owner))
}

func compareIDs(a, b PortID) int {
	return cmp.Or(
		CompareKeys(a.Channel, b.Channel),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Protocol, b.Protocol),
	)
}

// CompareKeys orders objects by namespace, then name.
func CompareKeys(a, b types.NamespacedName) int {
	if a.Namespace != b.Namespace {
		return cmp.Compare(a.Namespace, b.Namespace)
	}
	return cmp.Compare(a.Name, b.Name)
}

// sameClaims is true if nothing that is written differs.
func sameClaims(a, b []Claim) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) > 0 && &a[0] == &b[0] {
		return true // the very same ones
	}
	for i := range a {
		if !a[i].same(&b[i]) {
			return false
		}
	}
	return true
}

func (c *Claim) same(other *Claim) bool {
	return c.Public == other.Public && c.Port == other.Port && c.Source == other.Source && c.State == other.State &&
		c.MuxName == other.MuxName && c.Owner == other.Owner && c.Since.Equal(other.Since) && c.Until.Equal(other.Until)
}
