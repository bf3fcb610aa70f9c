package plan

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// HostnameHolder records which namespace used a DNS name first.
type HostnameHolder struct {
	Hostname  string
	Namespace string
}

// Ledger is the lasting state of a mux: its claims and the holders of its DNS names.
type Ledger struct {
	Mux types.NamespacedName
	// MuxUID is the UID of the mux at the last decision; empty in ledgers of the original and of older versions.
	MuxUID types.UID
	// HeldUntil is when the hold after the mux's recreation ends; zero without a hold.
	HeldUntil time.Time
	// Provider is the key of the provider whose limits applied at the last decision; empty if unknown.
	Provider string
	// Generation counts the decisions that changed the mux's ports. The mux's stamp is the generation that its ports
	// were decided from. The original writes 0.
	Generation int64
	Claims     []Claim          // sorted by public port, then protocol
	Hostnames  []HostnameHolder // sorted by name
}

// Clone returns a copy that shares no memory with the ledger.
func (l Ledger) Clone() Ledger {
	l.Claims = slices.Clone(l.Claims)
	l.Hostnames = slices.Clone(l.Hostnames)
	return l
}

// Sort sorts claims and names.
func (l *Ledger) Sort() {
	slices.SortFunc(l.Claims, compareClaims)
	slices.SortFunc(l.Hostnames, compareHolders)
}

// sorted returns the ledger itself if it is sorted, or else a sorted copy.
func (l Ledger) sorted() Ledger {
	if slices.IsSortedFunc(l.Claims, compareClaims) && slices.IsSortedFunc(l.Hostnames, compareHolders) {
		return l
	}
	l = l.Clone()
	l.Sort()
	return l
}

func compareHolders(a, b HostnameHolder) int { return cmp.Compare(a.Hostname, b.Hostname) }

// SameClaims is true if two lists would be written alike. Equal moments in two time zones are written alike.
func SameClaims(a, b []Claim) bool {
	if len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] {
		return true // the same slice
	}
	return slices.EqualFunc(a, b, func(a, b Claim) bool { return a.same(&b) })
}

func (c *Claim) same(other *Claim) bool {
	return c.Public == other.Public && c.Last == other.Last && c.Port == other.Port && c.Source == other.Source &&
		c.State == other.State &&
		c.MuxName == other.MuxName && c.Owner == other.Owner && c.Since.Equal(other.Since) && c.Until.Equal(other.Until)
}
