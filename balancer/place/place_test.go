package place_test

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/balancer/place"
)

func drawGateways(t *rapid.T, least int) []place.Gateway {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), least, 9, rapid.ID).Draw(t, "names")
	gateways := make([]place.Gateway, len(names))
	for i, name := range names {
		gateways[i] = place.Gateway{Name: name, Zone: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "zone"),
			Capacity: rapid.IntRange(1, 4).Draw(t, "capacity")}
	}
	return gateways
}

func drawKey(t *rapid.T) string { return rapid.StringMatching(`pool/[0-9]{1,3}`).Draw(t, "key") }

func TestOrderHasEveryGatewayWithCapacityOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gateways := drawGateways(t, 0)
		var want []string
		for i := range gateways {
			if rapid.Bool().Draw(t, "drained") {
				gateways[i].Capacity = 0
				continue
			}
			want = append(want, gateways[i].Name)
		}
		got := place.Order(drawKey(t), append(gateways, gateways...))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestOrderDoesNotDependOnInputOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gateways, key := drawGateways(t, 2), drawKey(t)
		before := place.Order(key, gateways)
		after := place.Order(key, rapid.Permutation(gateways).Draw(t, "shuffled"))
		if diff := cmp.Diff(before, after); diff != "" {
			t.Error(diff)
		}
	})
}

// A gateway that goes moves only its own keys; seen backwards, one that comes takes keys, and moves none between
// others.
func TestOnlyTheKeysOfALostGatewayMove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gateways, key := drawGateways(t, 2), drawKey(t)
		lost := rapid.IntRange(0, len(gateways)-1).Draw(t, "lost")
		before := place.Order(key, gateways)
		after := place.Order(key, slices.Delete(slices.Clone(gateways), lost, lost+1))
		switch {
		case before[0] != gateways[lost].Name && after[0] != before[0]:
			t.Errorf("%s moved from %s to %s, although %s was lost", key, before[0], after[0], gateways[lost].Name)
		case before[0] == gateways[lost].Name && after[0] != before[1] && oneZone(gateways):
			t.Errorf("%s moved to %s, and not to its second gateway: %v", key, after[0], before)
		}
	})
}

func oneZone(gateways []place.Gateway) bool {
	return !slices.ContainsFunc(gateways, func(g place.Gateway) bool { return g.Zone != gateways[0].Zone })
}

func TestZonesAlternateInAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gateways := drawGateways(t, 1)
		zones, left := map[string]string{}, map[string]int{}
		for _, g := range gateways {
			zones[g.Name] = g.Zone
			left[g.Zone]++
		}
		used := map[string]int{}
		for _, name := range place.Order(drawKey(t), gateways) {
			zone := zones[name]
			for other := range left {
				if left[other] > 0 && used[other] < used[zone] {
					t.Fatalf("zone %q comes again before zone %q", zone, other)
				}
			}
			used[zone]++
			left[zone]--
		}
	})
}

// The bound is six standard deviations of a fair draw: a good hash exceeds it about once in 500 million checks.
func TestSpreadFollowsCapacity(t *testing.T) {
	const keys = 2000
	rapid.Check(t, func(t *rapid.T) {
		gateways := drawGateways(t, 2)
		total, first := 0, map[string]int{}
		for _, g := range gateways {
			total += g.Capacity
		}
		for i := range keys {
			first[place.Order(fmt.Sprint("pool/", i), gateways)[0]]++
		}
		for _, g := range gateways {
			share := float64(g.Capacity) / float64(total)
			bound := 6 * math.Sqrt(keys*share*(1-share))
			if off := math.Abs(float64(first[g.Name]) - keys*share); off > bound {
				t.Errorf("%s has %d keys, %.0f from its share; the bound is %.0f", g.Name, first[g.Name], off, bound)
			}
		}
	})
}

func TestSeatMovesOnlyWithItsSeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seats := rapid.SliceOfNDistinct(rapid.Uint8(), 2, 20, rapid.ID).Draw(t, "seats")
		address := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
		before, _ := place.Seat(address, seats)
		if shuffled, _ := place.Seat(address, rapid.Permutation(seats).Draw(t, "shuffled")); shuffled != before {
			t.Errorf("seat %d became %d in another input order", before, shuffled)
		}
		lost := rapid.IntRange(0, len(seats)-1).Draw(t, "lost")
		after, _ := place.Seat(address, slices.Delete(slices.Clone(seats), lost, lost+1))
		if before != seats[lost] && after != before {
			t.Errorf("%s moved from seat %d to %d, although seat %d was lost", address, before, after, seats[lost])
		}
	})
}

func TestSeatsShareAddressesEvenly(t *testing.T) {
	const addresses, seats = 4000, 16
	taken := map[uint8]int{}
	for i := range addresses {
		seat, _ := place.Seat(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}),
			[]uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 200})
		taken[seat]++
	}
	fair := float64(addresses) / seats
	for seat, n := range taken {
		if off := math.Abs(float64(n) - fair); off > 6*math.Sqrt(fair) || len(taken) != seats {
			t.Errorf("seat %d of %d has %d addresses, a fair share is %.0f", seat, len(taken), n, fair)
		}
	}
}

func TestWithoutSeatsThereIsNone(t *testing.T) {
	if seat, ok := place.Seat(netip.MustParseAddr("192.0.2.1"), nil); ok {
		t.Errorf("got seat %d", seat)
	}
}

// A changed hash would move every address of every cluster at an upgrade.
func TestPlacementIsTheSameInEveryVersion(t *testing.T) {
	gateways := []place.Gateway{{"a", "1", 1}, {"b", "1", 1}, {"c", "2", 2}, {"d", "2", 1}}
	seat, _ := place.Seat(netip.MustParseAddr("192.0.2.7"), []uint8{1, 2, 3, 4, 5, 6, 7, 8})
	got := fmt.Sprint(place.Order("pool/1", gateways), place.Order("pool/2", gateways), seat)
	if want := "[b c d a] [c b d a] 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
