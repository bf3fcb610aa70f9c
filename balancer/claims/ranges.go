package claims

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Range is a run of addresses of one family, both ends included.
type Range struct{ First, Last netip.Addr }

// Contains is true if the address is in the range.
func (r Range) Contains(a netip.Addr) bool {
	return a.BitLen() == r.First.BitLen() && !a.Less(r.First) && !r.Last.Less(a)
}

// Ranges are some ranges of addresses.
type Ranges []Range

// Contains is true if one of the ranges has the address.
func (ranges Ranges) Contains(a netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(r Range) bool { return r.Contains(a) })
}

// String returns the range as ParseRanges reads it.
func (r Range) String() string { return r.First.String() + "-" + r.Last.String() }

// Shared returns an address that both have. It is invalid if there is none.
func (ranges Ranges) Shared(others Ranges) netip.Addr {
	for _, pair := range [][2]Ranges{{ranges, others}, {others, ranges}} {
		for _, r := range pair[0] {
			if pair[1].Contains(r.First) {
				return r.First
			}
		}
	}
	return netip.Addr{}
}

// Without returns the ranges without the excluded addresses.
func (ranges Ranges) Without(excluded Ranges) Ranges {
	for _, x := range excluded {
		var rest Ranges
		for _, r := range ranges {
			if !r.Contains(x.First) && !x.Contains(r.First) {
				rest = append(rest, r)
				continue
			}
			if r.First.Less(x.First) {
				rest = append(rest, Range{r.First, x.First.Prev()})
			}
			if x.Last.Less(r.Last) {
				rest = append(rest, Range{x.Last.Next(), r.Last})
			}
		}
		ranges = rest
	}
	return ranges
}

// ParseRanges reads networks, ranges and single addresses.
func ParseRanges(texts []string) (Ranges, error) {
	var ranges Ranges
	for _, text := range texts {
		r, ok := parseRange(strings.TrimSpace(text))
		if !ok {
			return nil, fmt.Errorf("%q is no range of addresses: write a network such as 192.0.2.0/24, or a range such as "+
				"192.0.2.10-192.0.2.20", short(text))
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

func parseRange(text string) (Range, bool) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return Range{network.Masked().Addr(), last(network)}, network == network.Masked() && usable(network.Addr())
	}
	from, to, found := strings.Cut(text, "-")
	first, err := netip.ParseAddr(strings.TrimSpace(from))
	if err != nil || !found {
		return Range{first, first}, err == nil && usable(first)
	}
	end, err := netip.ParseAddr(strings.TrimSpace(to))
	return Range{first, end}, err == nil && usable(first) && usable(end) && first.BitLen() == end.BitLen() &&
		!end.Less(first)
}

// usable is false for addresses in a form that never compares equal to a plain one.
func usable(a netip.Addr) bool { return a.Zone() == "" && !a.Is4In6() }

func last(network netip.Prefix) netip.Addr {
	bytes := network.Masked().Addr().AsSlice()
	for bit := network.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	address, _ := netip.AddrFromSlice(bytes)
	return address
}
