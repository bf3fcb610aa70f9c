package sim

import "strings"

// Shrink leaves out of a history what isn't needed for it to break its promise: halves first, then less and less. Each
// step keeps its own number, so what stays draws as it did. It gives up after as many tries as are given.
func Shrink(o Outcome, tries int, play func(seed uint64, steps []int) Outcome) Outcome {
	for size := max(len(o.Steps)/2, 1); size > 0 && tries > 0; {
		shorter := false
		for at := 0; at < len(o.Steps) && tries > 0; {
			less := append(append([]int{}, o.Steps[:at]...), o.Steps[min(at+size, len(o.Steps)):]...)
			tries--
			if again := play(o.Seed, less); again.Promise() == o.Promise() {
				o, shorter = again, true
				continue
			}
			at += size
		}
		if !shorter || size > 1 {
			size /= 2
		}
	}
	return o
}

// Promise is the one that was broken, without the words that differ from case to case.
func (o Outcome) Promise() string {
	parts := strings.SplitN(o.Broken, ":", 3)
	return parts[0]
}
