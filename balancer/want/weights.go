package want

import (
	"strconv"
	"strings"

	"nowake.ai/svc-lb-mux/validation"
)

// weight is the share of a route's backend Service in the connections of a port.
type weight struct {
	of    string // the Service; empty without weights
	share int
}

// weightOf reads the weight of a slice's endpoints. A bad weight counts as no weight.
func weightOf(keys validation.Keys, slice *Slice) weight {
	text, of, _ := strings.Cut(slice.Annotations[keys.Weight], " ")
	share, err := strconv.Atoi(text)
	if err != nil || share < 1 || share > maxWeight || of == "" {
		return weight{}
	}
	return weight{of, share}
}

const (
	// maxWeight is the largest weight of the Gateway API.
	maxWeight = 1_000_000
	// maxWeighted is how many slots a port with weights has at most. Beyond, shares are rounded.
	maxWeighted = MaxSlotsOfPort
)

// weighted returns the slots of backends: a hash of the client chooses one. If any backend has no weight, each backend
// has one slot. Otherwise, a Service's share of the slots is its weight's share of all weights, and its backends share
// these slots evenly. There are as many backends as slots at most.
func weighted(all []candidate, most int) []Backend {
	slots, counts := make([]Backend, 0, len(all)), map[weight]int{}
	for _, c := range all {
		counts[*c.weight]++
	}
	each := slotsOfEach(counts, most)
	for _, c := range all {
		for range each[*c.weight] {
			slots = append(slots, c.Backend)
		}
	}
	if len(slots) <= most {
		return slots
	}
	fewer := make([]Backend, most) // rounded shares can be too many: an even choice keeps the shares
	for i := range fewer {
		fewer[i] = slots[i*len(slots)/most]
	}
	return fewer
}

// slotsOfEach returns how many slots each backend of a Service has. counts says how many backends each Service has.
// Together they have about most slots, and at least one each.
func slotsOfEach(counts map[weight]int, most int) map[weight]int {
	each := map[weight]int{}
	if _, unweighted := counts[weight{}]; unweighted || len(counts) == 1 {
		for w := range counts {
			each[w] = 1
		}
		return each
	}
	multiple, total := 1, 0
	for _, n := range counts {
		if multiple = lcm(multiple, n); multiple > maxWeight {
			multiple = maxWeight // shares are rounded then
		}
	}
	common := 0
	for w, n := range counts {
		each[w] = max(w.share*multiple/n, 1)
		common = gcd(each[w], common)
	}
	for w, n := range counts {
		each[w] /= common
		total += each[w] * n
	}
	if total > most {
		for w := range each {
			each[w] = max((each[w]*most+total/2)/total, 1)
		}
	}
	return each
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int) int { return a / gcd(a, b) * b }
