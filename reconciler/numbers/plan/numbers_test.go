package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/validation"
)

// TestNumbers compares each function with a search of one number after the other.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		first := rapid.Int32Range(1, 300).Draw(r, "first")
		run := validation.PortRange{First: first, Last: rapid.Int32Range(first, 400).Draw(r, "last")}
		var set numberSet
		taken := map[int32]bool{}
		for _, number := range rapid.SliceOf(rapid.Int32Range(1, 410)).Draw(r, "taken") {
			set.add(number)
			taken[number] = true
		}
		if rapid.Bool().Draw(r, "crowded") {
			for number := run.First; number < run.Last; number++ {
				set.add(number)
				taken[number] = true
			}
		}
		var low, high, used int32
		free := 0
		for number := run.First; number <= run.Last; number++ {
			if taken[number] {
				if used == 0 {
					used = number
				}
				continue
			}
			if free++; low == 0 {
				low = number
			}
			high = number
		}
		if got := firstFree(run, &set); got != low {
			t.Errorf("the first free number of %s is %d, got %d", run, low, got)
		}
		if got := firstTaken(run, &set); got != used {
			t.Errorf("the first taken number of %s is %d, got %d", run, used, got)
		}
		if got := lastFree(run, &set); got != high {
			t.Errorf("the last free number of %s is %d, got %d", run, high, got)
		}
		if got := countFree(run, &set); got != free {
			t.Errorf("%s has %d free numbers, got %d", run, free, got)
		}
	})
}

// TestNearest: of two numbers at the same distance, nearest returns the higher one.
func TestNearest(t *testing.T) {
	ranges := portRanges(t, "8000-8010,9000-9010")
	rapid.Check(t, func(r *rapid.T) {
		table := newBook(nil)
		for _, number := range rapid.SliceOf(rapid.Int32Range(7990, 9020)).Draw(r, "taken") {
			table.taken[corev1.ProtocolTCP].add(number)
		}
		asked := Slot{rapid.Int32Range(1, 65535).Draw(r, "asked"), corev1.ProtocolTCP}
		var want int32
		for number := range ranges.All() {
			taken := table.taken[corev1.ProtocolTCP]
			if taken[number/64]&(1<<(number%64)) != 0 {
				continue
			}
			if want == 0 || distance(number, asked) < distance(want, asked) ||
				distance(number, asked) == distance(want, asked) && number > want {
				want = number
			}
		}
		if got := table.nearest(ranges, asked); got != want {
			t.Errorf("nearest to %s is %d, got %d", asked, want, got)
		}
	})
}

// BenchmarkLastFree finds the only free number among 60,000.
func BenchmarkLastFree(b *testing.B) {
	table := newBook(nil)
	for number := int32(1); number < 60_000; number++ {
		table.taken[corev1.ProtocolTCP].add(number)
	}
	ranges := portRanges(b, "1-60000").Ranges()
	for b.Loop() {
		if got := table.auto(ranges, corev1.ProtocolTCP); got != 60_000 {
			b.Fatal(got)
		}
	}
}

func portRanges(t testing.TB, text string) validation.PortRanges {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{language.Keys().PortRange: text}}}
	return ReadMux(language, svc, false).Auto
}

// TestSpanWithout compares the method with sets of numbers.
func TestSpanWithout(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		span := func(name string) Span {
			first := rapid.Int32Range(1, 12).Draw(r, name)
			return NewSpan(first, rapid.Int32Range(0, 12).Draw(r, name+" last"),
				rapid.SampledFrom([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}).Draw(r, name+" protocol"))
		}
		whole, taken := span("whole"), span("taken")
		left := map[Slot]bool{}
		for slot := range whole.slots() {
			left[slot] = true
		}
		for slot := range taken.slots() {
			delete(left, slot)
		}
		if covers := len(left) == 0 && taken.Protocol == whole.Protocol; taken.Covers(whole) != covers {
			t.Errorf("%s covers %s: %t", taken, whole, !covers)
		}
		for _, part := range whole.without(taken) {
			for slot := range part.slots() {
				if !left[slot] {
					t.Errorf("%s without %s has %s, or has it twice", whole, taken, slot)
				}
				delete(left, slot)
			}
		}
		if len(left) > 0 {
			t.Errorf("%s without %s lacks %v", whole, taken, left)
		}
	})
}

func TestARunIsAddedAsItsNumbersAre(t *testing.T) {
	for _, run := range []validation.PortRange{{First: 1, Last: 1}, {First: 63, Last: 64}, {First: 64, Last: 127},
		{First: 65, Last: 126}, {First: 100, Last: 1000}, {First: 65535, Last: 65535}, {First: 1, Last: 65535}} {
		var all, one numberSet
		all.addRun(run)
		for number := run.First; number <= run.Last; number++ {
			one.add(number)
		}
		if all != one {
			t.Errorf("%v: other numbers than those of the run", run)
		}
	}
}
