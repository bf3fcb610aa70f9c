package plan

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Only gateways can enforce source ranges of one channel. On any other mux, a channel with source ranges would be open
// to clients that its owner shut out:
//
//	newcomer                     refused, gets no port
//	incumbent that adds them     refused, its ports leave the mux, its numbers are held until it gives the ranges up
//	published by the original    refused, keeps its ports as long as it shows an address: the original dropped
//	                             source ranges

// On a mux on gateways, the channels of a namespace may have MaxSourceRanges together: each costs the gateways memory
// and time. Beyond that, channels without a port are refused first, then those with the most source ranges.

// MaxSourceRanges is how many source ranges the channels of a namespace may have together on a mux.
const MaxSourceRanges = 4096

// restrict refuses source ranges that the mux can't enforce; nil if it can, or if the channel has none.
func (p *pass) restrict(c *channel) *refusal {
	switch {
	case c.SourceRanges == "" || p.w.Mux == nil:
		return nil
	case p.w.Mux.Pool == "":
		return &refusal{reason: validation.SourceRangesNotSupported, message: textSourceRanges(c.SourceRanges, p.w.Key)}
	case p.tooManyRanges[c.Key]:
		return &refusal{reason: SourceRangesExceeded,
			message: textTooManyRanges(c.SourceRangeCount, c.Key.Namespace, p.w.Key)}
	}
	return nil
}

// tooManyRanges returns the channels whose source ranges don't fit. A new channel takes no room from channels with
// ports. The annotation ports says whether a channel has a port. Its owner can forge it, but gains only against
// channels of the same namespace.
func tooManyRanges(channels []ObservedChannel) map[types.NamespacedName]bool {
	inUse, tooMany := map[string]int{}, map[types.NamespacedName]bool{}
	for i := range channels {
		inUse[channels[i].Key.Namespace] += channels[i].SourceRangeCount
	}
	var asking []*ObservedChannel
	for i := range channels {
		if c := &channels[i]; c.SourceRangeCount > 0 && inUse[c.Key.Namespace] > MaxSourceRanges {
			asking = append(asking, c)
		}
	}
	clear(inUse)
	slices.SortFunc(asking, func(a, b *ObservedChannel) int {
		return cmp.Or(cmp.Compare(min(len(b.Recorded), 1), min(len(a.Recorded), 1)),
			cmp.Compare(a.SourceRangeCount, b.SourceRangeCount), strings.Compare(a.Key.String(), b.Key.String()))
	})
	for _, c := range asking {
		if inUse[c.Key.Namespace] += c.SourceRangeCount; inUse[c.Key.Namespace] > MaxSourceRanges {
			inUse[c.Key.Namespace] -= c.SourceRangeCount
			tooMany[c.Key] = true
		}
	}
	return tooMany
}

// isOriginals is true for a channel that the original published. It shows an address, and our condition Accepted is
// missing or refuses its source ranges. A channel that we published never shows both an address and this refusal: it
// loses its address in the patch that refuses it.
func (p *pass) isOriginals(c *channel) bool {
	said := meta.FindStatusCondition(c.Conditions, p.w.Keys.Accepted)
	return len(c.Address) > 0 && (said == nil || said.Reason == string(validation.SourceRangesNotSupported))
}

// isWithdrawn is true for a channel whose numbers are held, but don't belong on the mux.
func (p *pass) isWithdrawn(c *channel) bool {
	return c.Disabled || p.restrict(c) != nil && !p.isOriginals(c)
}
