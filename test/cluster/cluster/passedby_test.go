package cluster

import (
	"testing"
	"time"
)

// TestAllowancesExpire asks for an excuse for one connection that passed at a known time.
func TestAllowancesExpire(t *testing.T) {
	began := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		passed  []time.Duration // after the connection began
		excused bool
		left    int
	}{
		"none passed":                              {},
		"it passed at once":                        {[]time.Duration{0}, true, 0},
		"its first packet was sent again":          {[]time.Duration{3 * time.Second}, true, 0},
		"one passed in the story before":           {[]time.Duration{-2 * time.Second}, false, 1},
		"one passed after its last packet":         {[]time.Duration{5 * time.Second}, false, 1},
		"one that expired doesn't hide a good one": {[]time.Duration{-time.Minute, time.Second}, true, 1},
		"each excuses one":                         {[]time.Duration{time.Second, time.Second}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var a Allowances
			for _, after := range c.passed {
				a = append(a, began.Add(after))
			}
			if got := a.Excuse(began); got != c.excused || len(a) != c.left {
				t.Errorf("excused %v, and %d allowances are left; want %v, and %d", got, len(a), c.excused, c.left)
			}
		})
	}
}

// TestElementsTellTheirAge reads what nft 1.1 lists of a set.
func TestElementsTellTheirAge(t *testing.T) {
	const listed = `{"nftables": [{"metainfo": {"version": "1.1.3"}}, {"set": {"family": "inet", "elem": [
		{"elem": {"val": {"concat": ["192.0.2.1", 40000, 20000]}, "expires": 3598}}]}}]}`
	elements, err := parseElements(listed)
	if err != nil || len(elements) != 1 || elements[0].Expires != kept-2 {
		t.Errorf("%v, %v", elements, err)
	}
	if _, err := parseElements(`{"nftables": [{"set": {"elem": [{"elem": {"val": "192.0.2.1"}}]}}]}`); err == nil {
		t.Error("an element without an end has an age")
	}
}
