package provider

import (
	"net/netip"
	"testing"
)

func TestPool(t *testing.T) {
	p := newPool(netip.MustParsePrefix("203.0.113.0/30"), netip.MustParsePrefix("2001:db8::/126"))
	get := func(owner string, six bool, want string) {
		t.Helper()
		ip, err := p.get(owner, six)
		if err != nil || ip.String() != want {
			t.Errorf("%s (IPv6: %t) got %s, %v; want %s", owner, six, ip, err, want)
		}
	}
	get("a/one", false, "203.0.113.1")
	get("a/two", false, "203.0.113.2")
	get("a/one", false, "203.0.113.1") // an owner keeps its address
	get("a/one", true, "2001:db8::1")
	p.release("a/one")
	get("a/three", false, "203.0.113.1")
	p.hold("a/four", netip.MustParseAddr("203.0.113.3"))
	if ip, err := p.get("a/five", false); err == nil {
		t.Errorf("an exhausted pool gave %s", ip)
	}
	if ip, err := newPool(netip.MustParsePrefix("203.0.113.0/30"), netip.Prefix{}).get("a/one", true); err == nil {
		t.Errorf("a pool without IPv6 gave %s", ip)
	}
}
