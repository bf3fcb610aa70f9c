package figure

import (
	"strings"
	"testing"
	"time"
)

func TestLines(t *testing.T) {
	var out strings.Builder
	Against(&out, "a", 130, "ns", 100, 1.3)
	Against(&out, "b", 131, "ns", 100, 1.3)
	AtMost(&out, "c", 42, "µs", 100)
	AtMost(&out, "e", 123456.7, "ns", 1e6)
	AtMost(&out, "d", 100.5, "µs", 100)
	want := `
a 130.0 ns ratio=1.30 target=1.3 ok

b 131.0 ns ratio=1.31 target=1.3 short

c 42.0 µs ratio=0.42 target=100µs ok

e 123457 ns ratio=0.12 target=1e+06ns ok

d 100.5 µs ratio=1.00 target=100µs short
`
	if out.String() != want {
		t.Errorf("got %s want %s", &out, want)
	}
}

func TestPairRunsBothFunctionsInTurns(t *testing.T) {
	var order strings.Builder
	var pair Pair
	for range 3 {
		pair.Turn(2, func() { order.WriteString("f") }, func() { order.WriteString("o"); time.Sleep(time.Millisecond) })
	}
	if order.String() != "ffooffooffoo" {
		t.Errorf("the functions ran in the order %s", &order)
	}
	if floor, ours := pair.Medians(); floor >= ours || ours < time.Millisecond {
		t.Errorf("medians are %s and %s", floor, ours)
	}
}
