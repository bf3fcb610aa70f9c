package want

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// settings are a channel's settings, as a slice's annotations have them.
type settings struct {
	sources sources
	isOpen  bool // every network may connect
	sticky  bool
	local   bool
}

type badSettings struct {
	reason  Reason
	message string
}

// readSettings reads a slice's settings. A slice without source ranges isn't used: its channel may have restricted who
// may connect.
func readSettings(keys validation.Keys, slice *Slice) (settings, *badSettings) {
	text, there := slice.Annotations[keys.SourceRanges]
	if !there {
		return settings{}, &badSettings{NoSettings,
			fmt.Sprintf("slice %s has no annotation %s: the reconciler must be of a version with gateways",
				slice.Name, keys.SourceRanges)}
	}
	set := settings{sources: everySource(),
		sticky: slice.Annotations[keys.SessionAffinity] == string(corev1.ServiceAffinityClientIP),
		local:  slice.Annotations[keys.TrafficPolicy] == string(corev1.ServiceExternalTrafficPolicyLocal)}
	if strings.TrimSpace(text) == "" {
		set.isOpen = true
		return set, nil
	}
	set.sources = sources{}
	for _, part := range strings.Split(text, ",") {
		network, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil || network.Addr().Is4In6() {
			return settings{}, &badSettings{BadSettings,
				fmt.Sprintf("slice %s: %q in %s isn't a network such as 192.0.2.0/24", slice.Name, part,
					keys.SourceRanges)}
		}
		set.sources = append(set.sources, network.Masked())
	}
	set.sources, _ = set.sources.split()
	return set, nil
}

// sources are the networks that may connect, sorted, none inside another one.
type sources []netip.Prefix

func everySource() sources {
	return sources{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)}
}

// split returns the networks that aren't inside another one, and those that are. In the order of addresses and lengths,
// the networks inside another one follow it directly.
func (s sources) split() (outer, inner sources) {
	s = slices.SortedFunc(slices.Values(s), func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	for _, network := range s {
		if n := len(outer); n > 0 && outer[n-1].Overlaps(network) {
			inner = append(inner, network)
			continue
		}
		outer = append(outer, network)
	}
	return outer, inner
}

// intersect returns the networks that both allow. The slices of a channel are written one after another, so they differ
// for a while. Within one list, no network is inside another one. So if a network of the joined lists is inside another
// one, both lists allow it.
func (s sources) intersect(other sources) sources {
	_, both := slices.Concat(s, other).split()
	return both
}

// of returns the networks of an address's family; no network if every client may connect. It returns false if no client
// may connect.
func (s sources) of(address netip.Addr) ([]netip.Prefix, bool) {
	var list []netip.Prefix
	for _, network := range s {
		if network.Addr().Is4() != address.Is4() {
			continue
		}
		if network.Bits() == 0 {
			return nil, true
		}
		list = append(list, network)
	}
	return list, len(list) > 0
}
