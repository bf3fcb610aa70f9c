package decide

import (
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
)

// Decision is what to write, in this order: Hide, Claims, Show. Each write may fail by itself. But if Claims can't be
// written, Show must not be written: its conditions say that addresses are claimed.
type Decision struct {
	// Hide are statuses that lose an address.
	Hide []Status
	// Claims are the pool's new claims; nil if they stay as they are.
	Claims *claims.Claims
	// Show are all other statuses that change.
	Show []Status
	// NeedsLive is true if something can only be decided with live lists. Nothing else is set then: the caller reads the
	// lists and decides again at once.
	NeedsLive bool
	// Missing is the value of Missing for the next World.
	Missing map[types.NamespacedName]time.Time
	// Again is when to decide again although nothing changed; zero if that isn't needed.
	Again time.Time
	// Alarms are about gateways and the pool, sorted.
	Alarms  []Alarm
	Figures Figures
}

// Status is what a Service must say.
type Status struct {
	Mux *Mux
	// Addresses are what the status shows, in the order of the mux's families. SetsAddresses is false if they stay as they
	// are.
	Addresses     []netip.Addr
	SetsAddresses bool
	// Addressed and Carried are the conditions. Clean is true if both are removed, since the Service isn't on gateways any
	// more.
	Addressed, Carried Condition
	CarriedBy          string
	Clean              bool
	Events             []Event
}

// Condition is a condition without type and time. The zero value is no condition.
type Condition struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

// Event is an Event about a mux.
type Event struct {
	IsWarning bool
	Reason    string
	Message   string
}

// Alarm is something that a person must look at. Nothing is taken away because of it.
type Alarm struct {
	// Gateway has the problem; empty if the pool has it.
	Gateway string
	Reason  string
	Message string
}

// Figures are for metrics.
type Figures struct {
	// Held and Released count claims. Size is the number of addresses in the pool, at most MaxSize.
	Held, Released, Size int
	// Gateways and Live count gateways.
	Gateways, Live int
	// Uncarried counts muxes with an address that no live gateway carries.
	Uncarried int
	// IsFrozen is true while nothing is decided, because the claims can't be read, or are lost and can't be rebuilt yet.
	IsFrozen bool
}

// MaxSize is where the count of a pool's addresses ends: IPv6 networks have more than fit a number.
const MaxSize = 1 << 16
