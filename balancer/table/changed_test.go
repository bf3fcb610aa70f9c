package table

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/balancer/want"
)

// drawTables draws few values, so that tables share addresses, ports and backends.
func drawTables(t *rapid.T) *want.Tables {
	var tables want.Tables
	all := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"),
		netip.MustParseAddr("2001:db8::1")}
	for _, a := range all {
		source := rapid.SampledFrom([]netip.Addr{a, {}, netip.MustParseAddr("10.0.0.1")}).Draw(t, "source")
		if rapid.IntRange(0, 9).Draw(t, "gone") > 0 {
			tables.Addresses = append(tables.Addresses, want.Address{Address: a, Source: source})
		}
	}
	for _, a := range tables.Addresses {
		for first := uint16(80); first < 84; first++ {
			if rapid.IntRange(0, 9).Draw(t, "open") > 0 {
				tables.Services = append(tables.Services, drawService(t, a.Address, first))
			}
		}
	}
	return &tables
}

func drawService(t *rapid.T, address netip.Addr, first uint16) want.Service {
	s := want.Service{Address: address, Protocol: corev1.ProtocolTCP, First: first, Last: first,
		Sticky: rapid.Bool().Draw(t, "sticky")}
	if first == 83 {
		s.Last = rapid.Uint16Range(83, 90).Draw(t, "last")
	}
	backend, network := "10.1.0.", "10.0.0.0/8"
	if address.Is6() {
		backend, network = "fd01::", "fd00::/8"
	}
	for _, host := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3"}), 0, 3,
		rapid.ID).Draw(t, "slots") {
		s.Slots = append(s.Slots,
			want.Backend{Address: netip.MustParseAddr(backend + host), Port: rapid.Uint16Range(8080, 8083).Draw(t, "port")})
	}
	if rapid.Bool().Draw(t, "filtered") {
		s.Sources = []netip.Prefix{netip.MustParsePrefix(network)}
		if rapid.Bool().Draw(t, "other list") {
			s.Sources = append(s.Sources, netip.PrefixFrom(address, address.BitLen()))
		}
	}
	return s
}

// nextTables changes a service, or draws new tables.
func nextTables(t *rapid.T, tables *want.Tables) *want.Tables {
	next := &want.Tables{Addresses: tables.Addresses, Services: slices.Clone(tables.Services)}
	if len(next.Services) == 0 {
		return drawTables(t)
	}
	at := rapid.IntRange(0, len(next.Services)-1).Draw(t, "at")
	switch rapid.IntRange(0, 4).Draw(t, "step") {
	case 0:
		return drawTables(t)
	case 1:
		next.Services = slices.Delete(next.Services, at, at+1)
	case 2: // the caller reuses its own list of backends
		if slots := next.Services[at].Slots; len(slots) > 0 {
			slots[0].Port ^= 8
		}
	default:
		next.Services[at] = drawService(t, next.Services[at].Address, next.Services[at].First)
	}
	return next
}

// After any history, the kernel holds what the last tables need, although only changed services were compared. No
// element is added twice, and none is removed that isn't there: the kernel would refuse the transaction.
func TestComparingOnlyChangedServicesReachesTheSameElements(t *testing.T) {
	compared := false // whether only changed services were compared, at least once
	rapid.Check(t, func(t *rapid.T) {
		kernel := Kernel{have: []*state{{intact: true, elements: elements{}}, {intact: true, elements: elements{}}}}
		held, chains := []elements{{}, {}}, []map[string]bool{{}, {}}
		tables := drawTables(t)
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			next := kernel.differ(tables)
			for i, f := range families() {
				carryOut(t, held[i], next.changes[i])
				if diff := cmp.Diff(needed(f, tables), nonEmpty(held[i]), cmp.AllowUnexported(place{}, content{})); diff != "" {
					t.Fatalf("(-needed +held):\n%s", diff)
				}
				carryOutChains(t, chains[i], next.changes[i])
				if diff := cmp.Diff(neededChains(f, tables), chains[i]); diff != "" {
					t.Fatalf("chains (-needed +there):\n%s", diff)
				}
				if diff := cmp.Diff(nonEmpty(held[i]), nonEmpty(next.have[i].elements),
					cmp.AllowUnexported(place{}, content{})); diff != "" {
					t.Fatalf("(-held +remembered):\n%s", diff)
				}
			}
			kernel.remember(&next, tables)
			compared = compared || next.edit != nil && len(next.edit.now) > 0
			if diff := cmp.Diff(tables.Services, kernel.last.tables.Services, compareIP()...); diff != "" {
				t.Fatalf("(-applied +remembered):\n%s", diff)
			}
			tables = nextTables(t, tables)
		}
	})
	if !compared {
		t.Error("everything was compared each time")
	}
}

func compareIP() cmp.Options {
	return cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}
}

func carryOut(t *rapid.T, held elements, c change) {
	for set, places := range c.remove {
		for _, at := range places {
			if _, there := held[set][at]; !there {
				t.Fatalf("%s: removes %x, which isn't there", set, at)
			}
			delete(held[set], at)
		}
	}
	for set, places := range c.add {
		for _, at := range places {
			if _, there := held[set][at]; there {
				t.Fatalf("%s: adds %x twice", set, at)
			}
			held.add(set, at, c.want[set][at])
		}
	}
}

// carryOutChains adds and removes chains as the kernel does: it refuses to remove a chain that a rule of another one
// names.
func carryOutChains(t *rapid.T, chains map[string]bool, c change) {
	for i := range c.chains {
		chains[c.chains[i].name] = true
	}
	for _, name := range c.unused {
		if !chains[name] || chains[name+"-from"] {
			t.Fatalf("removes chain %s; there are %v", name, chains)
		}
		delete(chains, name)
	}
}

func neededChains(f family, tables *want.Tables) map[string]bool {
	chains := map[string]bool{}
	for _, s := range f.servicesOf(tables.Services) {
		c := choiceOf(&s)
		chains[c.chain()] = true
		c.filtered = false
		chains[c.chain()] = true
	}
	return chains
}

func needed(f family, tables *want.Tables) elements {
	all, _ := f.elementsOf(tables)
	return nonEmpty(all)
}

func nonEmpty(all elements) elements {
	kept := elements{}
	for set, places := range all {
		if len(places) > 0 {
			kept[set] = places
		}
	}
	return kept
}
