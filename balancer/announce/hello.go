package announce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// hellos sends frames that tell neighbours which machine has an address now.
type hellos struct{ socket int }

func openHellos() (*hellos, error) {
	// With protocol 0 the socket receives nothing.
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", err)
	}
	return &hellos{socket}, nil
}

func (h *hellos) close() { _ = unix.Close(h.socket) }

// send announces addresses.
func (h *hellos) send(device *net.Interface, addresses []netip.Addr) error {
	if len(device.HardwareAddr) != hardwareLen {
		return nil // such as loopback and tunnels: no neighbour to tell
	}
	var failed []error
	for _, a := range addresses {
		message, to, kind := gratuitousARP(device.HardwareAddr, a), broadcast(), uint16(unix.ETH_P_ARP)
		if a.Is6() {
			message, to, kind = unsolicitedNA(device.HardwareAddr, a), allNodes(), uint16(unix.ETH_P_IPV6)
		}
		target := &unix.SockaddrLinklayer{Protocol: kind<<8 | kind>>8, Ifindex: device.Index, Halen: hardwareLen}
		copy(target.Addr[:], to)
		if err := unix.Sendto(h.socket, message, 0, target); err != nil {
			failed = append(failed, fmt.Errorf("announce %s: %w", a, err))
		}
	}
	return errors.Join(failed...)
}

const hardwareLen = 6

func broadcast() net.HardwareAddr { return net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff} }

func allNodes() net.HardwareAddr { return net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1} }

// gratuitousARP is an ARP request in which sender and target have the same address (RFC 5227, section 3).
func gratuitousARP(hardware net.HardwareAddr, address netip.Addr) []byte {
	const ethernet, request = 1, 1
	m := []byte{0, ethernet, unix.ETH_P_IP >> 8, unix.ETH_P_IP & 0xff, hardwareLen, 4, 0, request}
	m = append(m, hardware...)
	m = append(m, address.AsSlice()...)
	m = append(m, make([]byte, hardwareLen)...)
	return append(m, address.AsSlice()...)
}

// unsolicitedNA is a neighbour advertisement to all nodes that replaces their entries (RFC 4861, section 7.2.6).
func unsolicitedNA(hardware net.HardwareAddr, address netip.Addr) []byte {
	const advertisement, override, targetLinkLayer = 136, 0x20, 2
	body := []byte{advertisement, 0, 0, 0, override, 0, 0, 0}
	body = append(body, address.AsSlice()...)
	body = append(body, targetLinkLayer, 1)
	body = append(body, hardware...)
	all := netip.MustParseAddr("ff02::1")
	binary.BigEndian.PutUint16(body[2:], checksumICMP(address, all, body))
	packet := []byte{6 << 4, 0, 0, 0, 0, byte(len(body)), unix.IPPROTO_ICMPV6, 255}
	packet = append(packet, address.AsSlice()...)
	packet = append(packet, all.AsSlice()...)
	return append(packet, body...)
}

// checksumICMP is the checksum of an ICMPv6 message with an even length.
func checksumICMP(source, destination netip.Addr, message []byte) uint16 {
	text := append(source.AsSlice(), destination.AsSlice()...)
	text = append(text, 0, 0, byte(len(message)>>8), byte(len(message)), 0, 0, 0, unix.IPPROTO_ICMPV6)
	text = append(text, message...)
	var total uint32
	for ; len(text) > 1; text = text[2:] {
		total += uint32(binary.BigEndian.Uint16(text))
	}
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	return ^uint16(total)
}
