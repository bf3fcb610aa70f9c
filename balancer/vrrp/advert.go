package vrrp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Advert is a VRRP message.
type Advert struct {
	RouterID uint8
	// Priority is 0 if the router gives up the seat.
	Priority uint8
	// Interval is how often the router sends adverts, in whole centiseconds.
	Interval time.Duration
	// Addresses are of one family, at least one.
	Addresses []netip.Addr
}

const (
	header         = 8
	versionAndType = 3<<4 | 1
	protocol       = 112
	centisecond    = 10 * time.Millisecond
	longest        = 1<<12 - 1 // in centiseconds
)

// Append appends an advert for a packet from source to destination.
func (a *Advert) Append(to []byte, source, destination netip.Addr) ([]byte, error) {
	interval := a.Interval / centisecond
	switch {
	case interval < 1 || interval > longest || a.Interval%centisecond != 0:
		return nil, fmt.Errorf("advert interval %s isn't 10 ms to 40.95 s in steps of 10 ms", a.Interval)
	case a.RouterID == 0 || len(a.Addresses) < 1 || len(a.Addresses) > 255:
		return nil, fmt.Errorf("advert of router ID %d with %d addresses: an advert has a router ID from 1 to 255, and 1 "+
			"to 255 addresses",
			a.RouterID, len(a.Addresses))
	}
	message := []byte{versionAndType, a.RouterID, a.Priority, byte(len(a.Addresses)), byte(interval >> 8), byte(interval),
		0, 0}
	for _, address := range a.Addresses {
		if address.BitLen() != source.BitLen() || address.BitLen() != destination.BitLen() {
			return nil, fmt.Errorf("advert from %s to %s with %s: all must be of one family", source, destination, address)
		}
		message = append(message, address.AsSlice()...)
	}
	binary.BigEndian.PutUint16(message[6:], ^sum(message, pseudoHeader(source, destination, len(message))))
	return append(to, message...), nil
}

// Parse reads the message of a packet from source to destination.
func Parse(message []byte, source, destination netip.Addr) (Advert, error) {
	if len(message) < header || message[0] != versionAndType {
		return Advert{}, errors.New("no VRRP version 3 advert")
	}
	size := source.BitLen() / 8
	count := int(message[3])
	if count == 0 || size == 0 || len(message) != header+count*size || destination.BitLen() != source.BitLen() ||
		message[1] == 0 {
		return Advert{}, fmt.Errorf("advert of %d bytes with %d addresses, router ID %d", len(message), count, message[1])
	}
	// RFC 5798 could be read in two ways: with IPv4, some routers leave the pseudo header out.
	bare := source.Is4() && sum(message) == 0xffff
	if !bare && sum(message, pseudoHeader(source, destination, len(message))) != 0xffff {
		return Advert{}, errors.New("advert with a wrong checksum")
	}
	a := Advert{RouterID: message[1], Priority: message[2],
		Interval: time.Duration(binary.BigEndian.Uint16(message[4:])&longest) * centisecond}
	if a.Interval == 0 {
		return Advert{}, errors.New("advert with interval 0")
	}
	for rest := message[header:]; len(rest) > 0; rest = rest[size:] {
		address, _ := netip.AddrFromSlice(rest[:size])
		a.Addresses = append(a.Addresses, address)
	}
	return a, nil
}

// pseudoHeader is what the checksum covers of the IP header, for both families.
func pseudoHeader(source, destination netip.Addr, length int) []byte {
	text := append(source.AsSlice(), destination.AsSlice()...)
	if source.Is4() {
		return append(text, 0, protocol, byte(length>>8), byte(length))
	}
	return append(text, 0, 0, byte(length>>8), byte(length), 0, 0, 0, protocol)
}

// sum is the ones' complement sum of parts with an even length. It is 0xffff for a message with a right checksum.
func sum(parts ...[]byte) uint16 {
	var total uint32
	for _, part := range parts {
		for ; len(part) > 1; part = part[2:] {
			total += uint32(part[0])<<8 | uint32(part[1])
		}
	}
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	return uint16(total)
}
