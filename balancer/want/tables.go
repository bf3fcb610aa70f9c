package want

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Tables is what the kernel must hold: nothing else of ours, and nothing less.
type Tables struct {
	// Addresses are the muxes' addresses, sorted. A packet to one of them is translated by a service below, or not let
	// through.
	Addresses []Address
	// Services are sorted by address, protocol and number. No two of them overlap.
	Services []Service
}

// Address is one address of a mux.
type Address struct {
	Address netip.Addr
	Mux     types.NamespacedName
	// Source is the source address that backends see. The zero value keeps the client's; 0.0.0.0 or :: means the address
	// of the interface through which a packet leaves.
	Source netip.Addr
}

// Service is one port of a mux's address, or one range of ports.
type Service struct {
	Address netip.Addr
	// Protocol is TCP, UDP or SCTP.
	Protocol corev1.Protocol
	// First and Last are equal for a single port.
	First, Last uint16
	Mux         types.NamespacedName
	// Slots are the backends in the order in which the hash of a connection chooses among them; every gateway has the same
	// order. The number k of a range goes to a backend's port plus k.
	Slots []Backend
	// Sources are the networks that may connect, none inside another. Without any, every network may.
	Sources []netip.Prefix
	// Sticky sends all connections of a client's address to one backend.
	Sticky bool
}

// Backend is where connections go.
type Backend struct {
	Address netip.Addr
	Port    uint16
}

// IsRange is true for a service of several numbers.
func (s *Service) IsRange() bool { return s.Last > s.First }
