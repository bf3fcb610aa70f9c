package plan

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PortID identifies the owner of a claim: a named port of a channel. It includes the protocol, so that a port that
// changes from TCP to UDP is another owner.
type PortID struct {
	Channel  types.NamespacedName
	Name     string
	Protocol corev1.Protocol
}

// Source is how a claim got its number.
type Source uint8

// The number was requested (Static), or picked from the mux's range (Auto).
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

// State is the state of a claim.
type State uint8

// Held ──▶ Releasing ──▶ InGrace ──▶ deleted. A claim returns to Held from Releasing or InGrace if
// its owner returns.
const (
	// Held is a claim that its owner keeps. Its port belongs on the mux, unless its channel is disabled, must wait, or the
	// API server refuses it.
	Held State = iota
	// Releasing is a claim whose port must be removed from the mux, or was removed a moment ago.
	Releasing
	// InGrace is a claim whose port is off the mux. Its number is reserved for its former owner until Until.
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

// Claim records which channel port a slot of the mux belongs to.
type Claim struct {
	Owner PortID
	// Port is the channel port's own number. It identifies the port after a rename.
	Port int32
	// Public is the number on the mux, or the first number of a range. Two claims never have the same number and protocol.
	Public int32
	// Last is the last number of a range; 0 for a single number. Only muxes on gateways have ranges.
	Last   int32
	Source Source
	// MuxName is the port's name on the mux. Slices use it as the port name.
	MuxName string
	// Since is when the claim got its number; zero if unknown.
	Since time.Time
	State State
	// Until is when the number of a claim InGrace becomes free.
	Until time.Time
}

func (c *Claim) held() bool { return c.State == Held }

// Slot is a public port: a number and a protocol.
type Slot struct {
	Number   int32
	Protocol corev1.Protocol
}

// SlotOf returns the slot of a port. A port without a protocol has TCP.
func SlotOf(port *corev1.ServicePort) Slot {
	return Slot{port.Port, cmp.Or(port.Protocol, corev1.ProtocolTCP)}
}

// Slot returns the claimed slot, or the first one of a range.
func (c *Claim) Slot() Slot { return Slot{c.Public, c.Owner.Protocol} }

// IsRange is true for a claim of several numbers.
func (c *Claim) IsRange() bool { return c.Last > c.Public }

// Numbers returns a text such as "443/TCP" or "10000-19999/UDP".
func (c *Claim) Numbers() string { return c.Span().String() }

// Span returns the claimed numbers.
func (c *Claim) Span() Span { return NewSpan(c.Public, c.Last, c.Owner.Protocol) }

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
