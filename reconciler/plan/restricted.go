package plan

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"nowake.ai/svc-lb-mux/validation"
)

// Only gateways can enforce source ranges of one channel. On any other mux, a channel with source ranges would be open to clients that
// its owner shut out:
//
//	newcomer                     refused, gets no port
//	incumbent that adds them     refused, its ports leave the mux, its numbers are held until it gives the ranges up
//	published by the original    refused, keeps its ports as long as it shows an address: the original dropped source ranges

// restrict refuses source ranges on a mux that can't enforce them; nil if the channel has none, or if gateways carry the mux.
func (p *pass) restrict(c *channel) *refusal {
	if c.SourceRanges == "" || p.w.Mux == nil || p.w.Mux.Pool != "" {
		return nil
	}
	return &refusal{reason: validation.SourceRangesNotSupported, message: textSourceRanges(c.SourceRanges, p.w.Key)}
}

// isOriginals is true for a channel that the original published. It shows an address, and our condition Accepted is missing or refuses its source
// ranges. A channel that we published never shows both an address and this refusal: it loses its address in the patch that refuses it.
func (p *pass) isOriginals(c *channel) bool {
	said := meta.FindStatusCondition(c.Conditions, p.w.Keys.Accepted)
	return len(c.Address) > 0 && (said == nil || said.Reason == string(validation.SourceRangesNotSupported))
}

// isWithdrawn is true for a channel whose numbers are held, but don't belong on the mux.
func (p *pass) isWithdrawn(c *channel) bool {
	return c.Disabled || p.restrict(c) != nil && !p.isOriginals(c)
}
