package balancer_test

import (
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/nettest"
	"nowake.ai/svc-lb-mux/validation"
)

// TestOnlyClientsInsideTheSourceRangesConnect: two clients ask the same port at the same time, over TCP and UDP, IPv4
// and IPv6.
func TestOnlyClientsInsideTheSourceRangesConnect(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	stranger := nettest.New(t)
	s.front.Plug("br0", "stranger", stranger, "eth0")
	stranger.Address("eth0", "10.9.1.19/24", "fd09:1::19/64")
	a := start(t, s.a, s.config("a"))
	a.post(restricted(""))
	s.awaitAnswers()
	for _, test := range []struct {
		about, ranges    string
		client, stranger bool
	}{
		{"the client alone", "10.9.1.9/32,fd09:1::9/128", true, false},
		{"the stranger alone", "10.9.1.16/29,fd09:1::10/124", false, true},
		{"both, by two ranges that overlap", "10.9.1.0/24,10.9.1.9/32,fd09:1::/64", true, true},
		{"a range that can't be read closes the port", "10.9.1.0/24,everyone,fd09:1::/64", false, false},
	} {
		a.post(restricted(test.ranges))
		check := func(name string, from *nettest.Namespace, meets bool) {
			for _, address := range muxAddresses() {
				for protocol, ask := range map[string]func() error{
					"TCP": func() error { _, _, err := from.AskWithin(300*time.Millisecond, address, 80); return err },
					"UDP": func() error { _, _, err := from.AskUDP(address, 53); return err },
				} {
					eventually(t, test.about+": "+protocol+" from "+name+" to "+address.String(), func() bool {
						return (ask() == nil) == meets
					})
					if protocol == "UDP" {
						continue // each datagram without an answer takes a second
					}
					if err := ask(); (err == nil) != meets { // once more: a packet that was lost looks like a closed port
						t.Errorf("%s: %s from %s to %s: %v", test.about, protocol, name, address, err)
					}
				}
			}
		}
		check("the client", s.client, test.client)
		check("the stranger", stranger, test.stranger)
	}
}

// restricted returns news of gateway a alone, with slices that bring source ranges.
func restricted(ranges string) *newsText {
	n := news("a")
	for _, slice := range n.Slices {
		slice.Annotations[validation.DefaultPrefix+"/source-ranges"] = ranges
	}
	return n
}
