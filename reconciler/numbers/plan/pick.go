package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// pickRest picks numbers for auto ports.
func (g *grant) pickRest() *refusal {
	ranges := g.w.Mux.Auto.Ranges()
	for i := range g.wanted {
		w := &g.wanted[i]
		if w.number() != 0 || g.isGiven(w) {
			continue
		}
		if len(ranges) == 0 {
			return &refusal{reason: validation.InvalidPortMapping,
				message: textNoRange(w.port.Name, g.w.Mux, g.w.Keys.PortRange)}
		}
		if !g.pick(w, ranges) {
			return &refusal{
				reason: validation.InvalidPortMapping, message: textExhausted(w.port.Name, w.port.Protocol, g.w.Mux),
				usedUp: w.port.Protocol,
			}
		}
	}
	return nil
}

func (g *grant) isGiven(w *wanted) bool {
	return slices.ContainsFunc(g.got, func(it given) bool { return it.want == w })
}

// pick picks, in this order:
//
//	the number that the port had before
//	one public number for all auto ports that have the same own number under several protocols
//	the first free number
//	a number that the channel gave up and that is still reserved for it
func (g *grant) pick(w *wanted, ranges []validation.PortRange) bool {
	if former, is := g.spare(w, true); is {
		g.take(w, former, Auto)
		return true
	}
	if g.pickPair(w, ranges) {
		return true
	}
	if number := g.auto(ranges, w.port.Protocol); number != 0 {
		g.take(w, NewSpan(number, 0, w.port.Protocol), Auto)
		return true
	}
	if spare, is := g.spare(w, false); is {
		g.take(w, spare, Auto)
		return true
	}
	return false
}

// spare returns a number that the channel gave up and that may be picked again; with former, only a number of this very
// port. Of several numbers it returns the one that stays reserved the longest.
func (g *grant) spare(w *wanted, former bool) (number Span, found bool) {
	var until time.Time
	for _, claim := range g.channel.claims {
		if claim.held() || claim.Owner.Protocol != w.port.Protocol || former && claim.Owner != w.id(g.channel) || found &&
			!claim.Until.After(until) {
			continue
		}
		for slot := range claim.Span().slots() {
			one := slot.Span()
			isGiven := slices.ContainsFunc(g.got, func(it given) bool { return it.numbers.Covers(one) })
			if !isGiven && !g.hasForeign(one) && g.w.Mux.Auto.Contains(slot.Number) {
				number, found, until = one, true, claim.Until
				break
			}
		}
	}
	return number, found
}

// pickPair gives ports with the same own number under several protocols one public number, if a number is free under
// all of them.
func (g *grant) pickPair(w *wanted, ranges []validation.PortRange) bool {
	var set []*wanted
	var under []corev1.Protocol
	for i := range g.wanted {
		other := &g.wanted[i]
		if other.port.Port != w.port.Port || other.number() != 0 || other.has != nil || g.isGiven(other) {
			continue
		}
		if _, is := g.spare(other, true); is {
			return false
		}
		set, under = append(set, other), append(under, other.port.Protocol)
	}
	if len(set) < 2 || w.has != nil {
		return false
	}
	number := g.auto(ranges, under...)
	if number == 0 {
		return false
	}
	for _, other := range set {
		g.take(other, NewSpan(number, 0, other.port.Protocol), Auto)
	}
	return true
}
