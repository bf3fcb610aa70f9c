package balancer_test

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/test/nettest"
)

// newsOfPool is a pool with one gateway and one mux, whose port 53/UDP leads to a backend. The other addresses are of
// another pool.
func newsOfPool(gateway, routerID, mux, backend string, port int32) *newsText {
	n := news(gateway)
	text := n.Claims.Data[claims.Key]
	text = strings.ReplaceAll(text, `"routerID":7`, `"routerID":`+routerID)
	text = strings.ReplaceAll(text, `"seat":7`, `"seat":`+routerID)
	text = strings.ReplaceAll(text, `"pool":"p"`,
		`"pool":"p","pools":["10.9.1.100","10.9.1.101","fd09:1::100-fd09:1::101"]`)
	n.Claims.Data[claims.Key] = strings.ReplaceAll(text, `"10.9.1.100","fd09:1::100"`, `"`+mux+`"`)
	family := discoveryv1.AddressTypeIPv4
	if strings.Contains(mux, ":") {
		family = discoveryv1.AddressTypeIPv6
	}
	slice := sliceOf(family, []string{backend})
	*slice.Ports[1].Port = port
	n.Slices = []*discoveryv1.EndpointSlice{slice}
	n.Muxes[0].Spec.Ports = n.Muxes[0].Spec.Ports[1:]
	return n
}

// connections returns how many connections a namespace tracks.
func connections(t *testing.T, n *nettest.Namespace) int {
	t.Helper()
	count, err := strconv.Atoi(strings.TrimSpace(n.Run("cat", "/proc/sys/net/netfilter/nf_conntrack_count")))
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// The endpoint of a mux in one pool is the address of a mux in another pool, and the other way round.
func TestDatagramDoesNotGoRoundBetweenTwoPools(t *testing.T) {
	for name, family := range map[string][2]string{"IPv4": {"10.9.1.100", "10.9.1.101"},
		"IPv6": {"fd09:1::100", "fd09:1::101"}} {
		for _, path := range []want.ReturnPath{want.ViaNode, want.ViaRouted, want.ViaGateway} {
			t.Run(name+" "+string(path), func(t *testing.T) {
				t.Parallel()
				s := newSegment(t)
				in := func(n *nettest.Namespace, name, routerID, mux, backend string) {
					config := s.config(name)
					config.Group, config.ReturnPath = "lb/pool-"+name, path
					k := start(t, n, config)
					k.post(newsOfPool(name, routerID, mux, backend, 53))
					eventually(t, "gateway "+name+" carries its mux", func() bool { return has(n, mux) && len(k.programmed()) == 1 })
					if refused, _ := k.reported().Find("web"); len(refused.Refused) != 1 ||
						refused.Refused[0].Reason != string(want.BadBackend) {
						t.Errorf("gateway %s reports %+v", name, refused.Refused)
					}
				}
				in(s.a, "a", "7", family[0], family[1])
				in(s.b, "b", "8", family[1], family[0])
				before := connections(t, s.a) + connections(t, s.b)
				_, _, _ = s.client.AskUDPWithin(300*time.Millisecond, netip.MustParseAddr(family[0]), 53)
				if made := connections(t, s.a) + connections(t, s.b) - before; made > 10 { // a few of the gateways' own
					t.Errorf("one datagram made %d entries of connection tracking", made)
				}
			})
		}
	}
}

// A Service's node port can lead to a mux's address, and no gateway can tell. Each gateway forwards packets, so the TTL
// ends the loop.
func TestLoopOverNodePortsEndsWithTheTTL(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.backends.Forward()
	s.backends.Run("ip", "route", "add", "10.9.1.0/24", "via", "10.9.2.1")
	s.backends.Run("nft", "table ip kube-proxy { chain nodeports { type nat hook prerouting priority -100; udp dport "+
		"30053 dnat to 10.9.1.101:53; udp dport 30054 dnat to 10.9.1.100:53; }; chain postrouting { type nat hook "+
		"postrouting priority 100; ct status dnat masquerade; }; }")
	for name, gateway := range map[string]*nettest.Namespace{"a": s.a, "b": s.b} {
		config := s.config(name)
		config.Group = "lb/pool-" + name
		k := start(t, gateway, config)
		mux, routerID, port := "10.9.1.100", "7", int32(30053)
		if name == "b" {
			mux, routerID, port = "10.9.1.101", "8", 30054
		}
		k.post(newsOfPool(name, routerID, mux, "10.9.2.11", port))
		eventually(t, "gateway "+name+" carries its mux", func() bool {
			return has(gateway, mux) && len(k.programmed()) == 1
		})
	}
	count := func() int { return connections(t, s.a) + connections(t, s.b) + connections(t, s.backends) }
	before := count()
	_, _, _ = s.client.AskUDPWithin(300*time.Millisecond, mux4(), 53)
	made := count() - before
	time.Sleep(300 * time.Millisecond)
	t.Logf("one datagram made %d entries of connection tracking", made)
	if later := count() - before - made; made > 300 || later > 10 {
		t.Errorf("the loop goes on: %d entries, and then %d more", made, later)
	}
}
