package sim

import "strings"

// Shrink removes steps from a history that still breaks its promise without them: first halves, then ever smaller
// parts. Each remaining step keeps its random number, so it draws the same values. Shrink stops after the given number
// of tries.
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

// Promise returns the name of the broken promise, without the details of the case.
func (o Outcome) Promise() string {
	parts := strings.SplitN(o.Broken, ":", 3)
	return parts[0]
}
