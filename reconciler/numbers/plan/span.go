package plan

import (
	"iter"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// Span is the numbers of a port on the mux: one, or a range.
type Span struct {
	First, Last int32
	Protocol    corev1.Protocol
}

// NewSpan returns the numbers from first to last; first alone if last is 0.
func NewSpan(first, last int32, protocol corev1.Protocol) Span {
	return Span{first, max(first, last), protocol}
}

// Span returns the slot as a span of one number.
func (s Slot) Span() Span { return Span{s.Number, s.Number, s.Protocol} }

// SpanOf returns the numbers of a range of the mux.
func SpanOf(r validation.MuxRange) Span { return Span{r.Run.First, r.Run.Last, r.Protocol} }

// String returns a text such as "443/TCP" or "10000-19999/UDP".
func (s Span) String() string { return s.run().String() + "/" + string(s.Protocol) }

// Covers is true if the span has all numbers of the other one.
func (s Span) Covers(other Span) bool {
	return s.Protocol == other.Protocol && s.First <= other.First && other.Last <= s.Last
}

func (s Span) run() validation.PortRange { return validation.PortRange{First: s.First, Last: s.Last} }

func (s Span) size() int { return int(s.Last-s.First) + 1 }

func (s Span) isRange() bool { return s.Last > s.First }

// slot returns the first number.
func (s Span) slot() Slot { return Slot{s.First, s.Protocol} }

// end returns the Last of a claim with these numbers: 0 for a single number.
func (s Span) end() int32 {
	if s.isRange() {
		return s.Last
	}
	return 0
}

// slots yields each number.
func (s Span) slots() iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for i := range s.size() {
			if !yield(Slot{s.First + int32(i), s.Protocol}) {
				return
			}
		}
	}
}

// without returns the parts of the span that aren't in the other one.
func (s Span) without(other Span) []Span {
	if s.Protocol != other.Protocol || s.Last < other.First || other.Last < s.First {
		return []Span{s}
	}
	var rest []Span
	if s.First < other.First {
		rest = append(rest, Span{s.First, other.First - 1, s.Protocol})
	}
	if other.Last < s.Last {
		rest = append(rest, Span{other.Last + 1, s.Last, s.Protocol})
	}
	return rest
}
