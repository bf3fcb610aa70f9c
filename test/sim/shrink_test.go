package sim

import (
	"slices"
	"testing"
)

// TestShrinkKeepsOnlyNecessarySteps shrinks a promise that breaks if three steps come together. A fourth step alone
// breaks another promise.
func TestShrinkKeepsOnlyNecessarySteps(t *testing.T) {
	played := 0
	play := func(seed uint64, steps []int) Outcome {
		played++
		o := Outcome{Seed: seed, Steps: steps}
		switch has := func(step int) bool { return slices.Contains(steps, step) }; {
		case has(7) && has(150) && has(299):
			o.Broken = "it stays: 203/TCP goes"
		case has(20):
			o.Broken = "claims: 204/TCP comes"
		}
		return o
	}
	whole := play(5, steps(300))
	if got := Shrink(whole, 600, play); got.Seed != 5 || got.Promise() != "it stays" ||
		!slices.Equal(got.Steps, []int{7, 150, 299}) {
		t.Errorf("the history shrinks to %v, which breaks %q", got.Steps, got.Broken)
	}
	played = 0
	if got := Shrink(whole, 5, play); played != 5 || got.Promise() != "it stays" || len(got.Steps) >= 300 {
		t.Errorf("with 5 tries the history is played %d times, and shrinks to %d steps that break %q", played, len(got.Steps),
			got.Broken)
	}
}
