package announce

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"testing"
)

func TestFramesAreAsTheRFCsDemand(t *testing.T) {
	hardware := net.HardwareAddr{2, 0, 0, 0, 0, 7}
	arp := gratuitousARP(hardware, netip.MustParseAddr("192.0.2.1"))
	const wantARP = "0001" + "0800" + "06" + "04" + "0001" + "020000000007" + "c0000201" + "000000000000" + "c0000201"
	if got := hex.EncodeToString(arp); got != wantARP {
		t.Errorf("ARP\n got %s\nwant %s", got, wantARP)
	}
	na := unsolicitedNA(hardware, netip.MustParseAddr("2001:db8::1"))
	const target = "20010db8000000000000000000000001"
	const wantNA = "60000000" + "0020" + "3a" + "ff" + target + "ff020000000000000000000000000001" + "8800" + "????" +
		"20000000" + target + "0201" + "020000000007"
	got := hex.EncodeToString(na)
	if got[:84] != wantNA[:84] || got[88:] != wantNA[88:] {
		t.Errorf("NA\n got %s\nwant %s", got, wantNA)
	}
	// With its checksum in place, the sum of a message is 0.
	if sum := checksumICMP(netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("ff02::1"), na[40:]); sum != 0 ||
		binary.BigEndian.Uint16(na[42:]) == 0 {
		t.Errorf("the checksum is off by %x", sum)
	}
}

func TestSeatAddressesAreLinkLocalAndDifferByGroup(t *testing.T) {
	for _, six := range []bool{false, true} {
		a, b, other := SeatAddress("lb/p", 7, six), SeatAddress("lb/q", 7, six), SeatAddress("lb/p", 8, six)
		if !a.IsLinkLocalUnicast() || a == b || a == other || a != SeatAddress("lb/p", 7, six) || a.Is6() != six {
			t.Errorf("got %s, %s and %s", a, b, other)
		}
	}
}
