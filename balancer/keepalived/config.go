package keepalived

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/want"
)

const header = "# Written by the svc-lb-mux gateway. It replaces this file as a whole: put settings of your own into " +
	"keepalived.conf.\n"

// config returns the file for these seats. With six, adverts go over IPv6.
func config(o *Options, seats []want.Seat, six bool) string {
	var text strings.Builder
	text.WriteString(header)
	for i := range seats {
		text.WriteString(instance(o, &seats[i], six))
	}
	return text.String()
}

// instance returns the virtual router of a seat. The name never changes, so that keepalived keeps the router's state
// when it reads the file again.
func instance(o *Options, s *want.Seat, six bool) string {
	var text strings.Builder
	intervals := announce.Intervals(s, o.Interval)
	line := func(format string, values ...any) { fmt.Fprintf(&text, "    "+format+"\n", values...) }
	fmt.Fprintf(&text, "\nvrrp_instance svc_lb_mux_%d {\n", s.RouterID)
	line("version 3")
	line("state BACKUP") // the priority decides
	line("interface %s", o.Interface)
	line("virtual_router_id %d", s.RouterID)
	line("priority %d", s.Priority)
	line("advert_int %.2f", intervals.Interval.Seconds())
	if n := missedAdverts(intervals); n > usualMissed {
		line("down_timer_adverts %d", n)
	}
	line("garp_master_delay 1")
	line("garp_master_refresh %d", int(announceAgain/time.Second))
	if peers := peersOf(s, six); o.Unicast && len(peers) > 0 {
		line("unicast_peer {")
		for _, peer := range peers {
			line("    %s", peer)
		}
		line("}")
	}
	line("virtual_ipaddress {")
	line("    %s", onInterface(o, announce.SeatAddress(o.Group, s.RouterID, six)))
	line("}")
	if len(s.Addresses) > 0 {
		line("virtual_ipaddress_excluded {") // so that adverts stay the same when a mux comes or goes
		for _, address := range s.Addresses {
			line("    %s", onInterface(o, address))
		}
		line("}")
	}
	text.WriteString("}\n")
	return text.String()
}

// A backup takes the seat after usualMissed adverts that it misses. keepalived allows up to mostMissed.
const (
	usualMissed = 3
	mostMissed  = 100
)

// missedAdverts returns how many adverts of its own interval keepalived must miss before it takes the seat. keepalived
// learns the interval of the seat's holder from the holder's adverts. But when it reads its file again, it forgets that
// interval until the next advert.
func missedAdverts(a claims.Adverts) int64 {
	return min(mostMissed, int64((usualMissed*a.Believed+a.Interval-1)/a.Interval))
}

// believes returns the longest interval that keepalived believes right after it has read its file.
func believes(a claims.Adverts) time.Duration {
	return time.Duration(missedAdverts(a)) * a.Interval / usualMissed
}

// announceAgain is how often the holder of a seat announces its addresses. Neighbours that missed the first
// announcement learn the addresses then.
const announceAgain = time.Minute

func peersOf(s *want.Seat, six bool) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(s.Peers), func(a netip.Addr) bool { return a.Is6() != six })
}

func onInterface(o *Options, address netip.Addr) string {
	return netip.PrefixFrom(address, address.BitLen()).String() + " dev " + o.Interface
}

// addressesIn returns the addresses that our file gives to keepalived: those of muxes, and the one in each seat's
// adverts.
func addressesIn(text string) map[netip.Addr]bool {
	found := map[netip.Addr]bool{}
	for line := range strings.Lines(text) {
		word, _, isAddress := strings.Cut(strings.TrimSpace(line), " dev ")
		if prefix, err := netip.ParsePrefix(word); isAddress && err == nil {
			found[prefix.Addr()] = true
		}
	}
	return found
}
