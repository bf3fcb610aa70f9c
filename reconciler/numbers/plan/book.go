package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"nowake.ai/svc-lb-mux/validation"
)

// book records the owner of each number. All claims are in it, and all counts follow from them.
type book struct {
	claims   []*Claim
	channels map[types.NamespacedName]*channel
	absent   map[types.NamespacedName][]*Claim // claims of channels that the cache doesn't show
	holders  *slots[*Claim]
	names    map[string]*Claim // claims by their port name on the mux; nil for a port that isn't ours
	foreign  map[Slot]string   // names of ports that aren't ours
	leaving  map[Slot]bool     // numbers without a claim that this pass takes off the mux
	taken    map[corev1.Protocol]*numberSet
	wished   map[corev1.Protocol]*numberSet // numbers that newcomers ask for: auto doesn't pick them until retryRefused
	// inUse counts the numbers of held claims and of foreign ports.
	inUse    int
	inUseBy  map[string]int // by namespace, without foreign ports
	carrying map[corev1.Protocol]int
}

func newBook(channels map[types.NamespacedName]*channel) book {
	return book{
		channels: channels,
		absent:   map[types.NamespacedName][]*Claim{},
		holders:  &slots[*Claim]{},
		foreign:  map[Slot]string{},
		leaving:  map[Slot]bool{},
		taken:    numberSets(),
		wished:   numberSets(),
		inUseBy:  map[string]int{},
		carrying: map[corev1.Protocol]int{},
	}
}

// adopt enters claims, except those with impossible numbers.
func (b *book) adopt(claims []Claim) {
	b.claims, b.names = make([]*Claim, 0, len(claims)), make(map[string]*Claim, len(claims))
	own := slices.Clone(claims)
	for i := range own {
		if isPort(own[i].Slot()) && own[i].Last <= validation.MaxPort {
			b.add(&own[i])
		}
	}
}

func (b *book) add(claim *Claim) {
	b.claims = append(b.claims, claim)
	if c := b.channels[claim.Owner.Channel]; c != nil {
		c.claims = append(c.claims, claim)
	} else {
		b.absent[claim.Owner.Channel] = append(b.absent[claim.Owner.Channel], claim)
	}
	for slot := range claim.Span().slots() {
		b.holders.set(slot, claim)
		b.taken[slot.Protocol].add(slot.Number)
	}
	// While a port moves, its old and its new claim have the same name on the mux. The name belongs to the held claim.
	if other := b.names[claim.MuxName]; other == nil || !other.held() {
		b.names[claim.MuxName] = claim
	}
	b.count(claim, +1)
}

// claimsOf returns the claims of a channel, whether the cache shows the channel or not.
func (b *book) claimsOf(key types.NamespacedName) []*Claim {
	if c := b.channels[key]; c != nil {
		return c.claims
	}
	return b.absent[key]
}

// forget drops claims for good.
func (b *book) forget(gone ...*Claim) {
	if len(gone) == 0 {
		return
	}
	isGone := sets.New(gone...).Has
	b.claims = slices.DeleteFunc(b.claims, isGone)
	for _, claim := range gone {
		b.count(claim, -1)
		if c := b.channels[claim.Owner.Channel]; c != nil {
			c.claims = slices.DeleteFunc(c.claims, isGone)
		} else {
			b.absent[claim.Owner.Channel] = slices.DeleteFunc(b.absent[claim.Owner.Channel], isGone)
		}
		for slot := range claim.Span().slots() {
			if b.holders.at(slot) == claim {
				b.holders.set(slot, nil)
				b.free(slot)
			}
		}
	}
}

// free makes a number free, unless another claim or a port on the mux has it.
func (b *book) free(slot Slot) {
	if _, foreign := b.foreign[slot]; !foreign && !b.leaving[slot] && b.holders.at(slot) == nil {
		b.taken[slot.Protocol].remove(slot.Number)
	}
}

// set changes the state of a claim.
func (b *book) set(claim *Claim, state State) {
	b.count(claim, -1)
	claim.State = state
	b.count(claim, +1)
}

// release makes held claims Releasing. Their numbers are free once they are off the mux and out of the ledger.
func (b *book) release(claims ...*Claim) {
	for _, claim := range claims {
		if claim.held() {
			b.set(claim, Releasing)
		}
	}
}

// count adds a held claim to the counters if n is 1, and takes it off if n is -1. In inUse, a range counts as many
// ports as it has numbers.
func (b *book) count(claim *Claim, n int) {
	if !claim.held() {
		return
	}
	b.inUse += n * claim.Span().size()
	b.inUseBy[claim.Owner.Channel.Namespace] += n * claim.Span().size()
	b.carrying[claim.Owner.Protocol] += n
}

func (b *book) isNamed(name string) bool {
	_, named := b.names[name]
	return named
}
