package plan

import (
	"math/bits"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// numberSet is a set of port numbers.
type numberSet [1 << 16 / 64]uint64

func numberSets() map[corev1.Protocol]*numberSet {
	return map[corev1.Protocol]*numberSet{corev1.ProtocolTCP: {}, corev1.ProtocolUDP: {}, corev1.ProtocolSCTP: {}}
}

func (n *numberSet) add(number int32)    { n[number/64] |= 1 << (number % 64) }
func (n *numberSet) remove(number int32) { n[number/64] &^= 1 << (number % 64) }

// within returns the mask of the numbers of the run within one word of a set.
func within(run validation.PortRange, word int32) uint64 {
	some := ^uint64(0)
	if word == run.First/64 {
		some <<= run.First % 64
	}
	if word == run.Last/64 {
		some &= ^uint64(0) >> (63 - run.Last%64)
	}
	return some
}

// addRun adds the numbers of the run, 64 at a time: any tenant may ask for a long one.
func (n *numberSet) addRun(run validation.PortRange) {
	for word := run.First / 64; word <= run.Last/64; word++ {
		n[word] |= within(run, word)
	}
}

// firstFree returns the first number of the run that is in none of the sets, or 0. It checks 64 numbers at a time, so
// that a nearly full range costs little more than a free one.
func firstFree(run validation.PortRange, sets ...*numberSet) int32 {
	for word := run.First / 64; word <= run.Last/64; word++ {
		free := within(run, word)
		for _, set := range sets {
			free &^= set[word]
		}
		if free != 0 {
			return word*64 + int32(bits.TrailingZeros64(free))
		}
	}
	return 0
}

// firstTaken returns the first number of the run that is in the set, or 0. It checks 64 numbers at a time.
func firstTaken(run validation.PortRange, set *numberSet) int32 {
	for word := run.First / 64; word <= run.Last/64; word++ {
		if taken := within(run, word) & set[word]; taken != 0 {
			return word*64 + int32(bits.TrailingZeros64(taken))
		}
	}
	return 0
}

// lastFree returns the last number of the run that isn't in the set, or 0.
func lastFree(run validation.PortRange, set *numberSet) int32 {
	for word := run.Last / 64; word >= run.First/64; word-- {
		if free := within(run, word) &^ set[word]; free != 0 {
			return word*64 + 63 - int32(bits.LeadingZeros64(free))
		}
	}
	return 0
}

// countFree counts the numbers of the run that aren't in the set.
func countFree(run validation.PortRange, set *numberSet) int {
	count := 0
	for word := run.First / 64; word <= run.Last/64; word++ {
		count += bits.OnesCount64(within(run, word) &^ set[word])
	}
	return count
}

// auto returns the first number of the ranges that is free under all of the protocols, and that no newcomer asks for,
// or 0.
func (b *book) auto(ranges []validation.PortRange, protocols ...corev1.Protocol) int32 {
	sets := make([]*numberSet, 0, 2*len(protocols))
	for _, protocol := range protocols {
		sets = append(sets, b.taken[protocol], b.wished[protocol])
	}
	for _, run := range ranges {
		if free := firstFree(run, sets...); free != 0 {
			return free
		}
	}
	return 0
}

// nearest returns the free number of the ranges that is closest to the requested one, or 0. Of two equally close
// numbers it returns the higher one.
func (b *book) nearest(ranges validation.PortRanges, asked Slot) int32 {
	var best int32
	for _, run := range ranges.Ranges() {
		above := validation.PortRange{First: max(run.First, asked.Number), Last: run.Last}
		below := validation.PortRange{First: run.First, Last: min(run.Last, asked.Number)}
		for _, number := range [...]int32{firstFree(above, b.taken[asked.Protocol]),
			lastFree(below, b.taken[asked.Protocol])} {
			if number != 0 && (best == 0 || distance(number, asked) < distance(best, asked)) {
				best = number
			}
		}
	}
	return best
}

func distance(number int32, asked Slot) int32 { return max(number-asked.Number, asked.Number-number) }
