package table

import (
	"testing"

	"pgregory.net/rapid"
)

// shifted is the kernel's formula.
func (w window) shifted(number int) int {
	return int(w.lowest) + number%(int(w.highest)-int(w.lowest)+1)
}

func TestWindowsShiftEveryNumberOfARange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.IntRange(1, 65535).Draw(t, "first")
		last := rapid.IntRange(first, 65535).Draw(t, "last")
		target := rapid.IntRange(1, 65535).Draw(t, "target")
		next := first
		for _, w := range windowsOf(uint16(first), uint16(last), uint16(target)) {
			if int(w.first) != next || w.last < w.first || w.highest < w.lowest {
				t.Fatalf("window %+v doesn't continue at %d", w, next)
			}
			for number := int(w.first); number <= int(w.last); number++ {
				if got, want := w.shifted(number), target+number-first; got != want {
					t.Fatalf("number %d goes to port %d, want %d: %+v", number, got, want, w)
				}
			}
			next = int(w.last) + 1
		}
		if want := min(last, 65535-target+first); next != want+1 {
			t.Errorf("windows end at %d, want %d", next-1, want)
		}
	})
}
