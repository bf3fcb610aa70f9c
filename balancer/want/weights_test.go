package want

import (
	"fmt"
	"net/netip"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

func TestSlotsAreSharedOutByWeight(t *testing.T) {
	type service struct{ weight, backends int }
	for _, c := range []struct {
		services []service
		slots    int   // in all
		shares   []int // of each Service, in per mille
	}{
		{[]service{{0, 3}}, 3, []int{1000}},
		{[]service{{5, 3}}, 3, []int{1000}},
		{[]service{{1, 1}, {1, 1}}, 2, []int{500, 500}},
		{[]service{{1, 1}, {1, 9}}, 18, []int{500, 500}},
		{[]service{{7, 1}, {3, 1}}, 10, []int{700, 300}},
		{[]service{{80, 2}, {20, 3}}, 15, []int{800, 200}},
		{[]service{{999_983, 7}, {17, 11}}, 0, []int{989, 11}}, // no backend gets less than one slot
		{[]service{{1, 100}, {2, 101}, {3, 103}}, 0, []int{160, 320, 520}},
	} {
		t.Run(fmt.Sprint(c.services), func(t *testing.T) {
			var all []candidate
			for i, s := range c.services {
				w := weight{}
				if s.weight > 0 {
					w = weight{fmt.Sprint("shop/", i), s.weight}
				}
				for b := range s.backends {
					all = append(all, candidate{Backend: Backend{netip.AddrFrom4([4]byte{10, byte(i), 0, byte(b)}), 80}, weight: &w})
				}
			}
			slots := weighted(all, maxWeighted)
			if c.slots > 0 && len(slots) != c.slots || len(slots) > maxWeighted {
				t.Errorf("there are %d slots, want %d", len(slots), c.slots)
			}
			had := make([]int, len(c.services))
			for _, slot := range slots {
				had[slot.Address.As4()[1]]++
			}
			for i, want := range c.shares {
				if got := 1000 * had[i] / len(slots); got < want-45 || got > want+45 {
					t.Errorf("Service %d has %d of 1000, want %d", i, got, want)
				}
			}
		})
	}
}

func TestBadWeightsCountAsNone(t *testing.T) {
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	keys := language.Keys()
	for text, want := range map[string]weight{"3 shop/web": {"shop/web", 3}, "": {}, "3": {}, "-1 a": {}, "0 a": {},
		"x a": {}, "9999999 a": {}} {
		slice := &Slice{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{keys.Weight: text}}}
		if got := weightOf(keys, slice); got != want {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
