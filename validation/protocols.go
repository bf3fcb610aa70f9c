package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Protocols is a set of protocols.
type Protocols uint8

// The protocols that a Service's port may have.
const (
	TCP Protocols = 1 << iota
	UDP
	SCTP
)

// protocol returns the set with one protocol, or the empty set for an unknown name.
func protocol(p corev1.Protocol) Protocols {
	switch p {
	case corev1.ProtocolTCP:
		return TCP
	case corev1.ProtocolUDP:
		return UDP
	case corev1.ProtocolSCTP:
		return SCTP
	}
	return 0
}

// Has says that the protocol is in the set.
func (s Protocols) Has(p corev1.Protocol) bool { return s&protocol(p) != 0 }

// String returns the protocols as a user would write them.
func (s Protocols) String() string {
	var names []string
	for _, p := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		if s.Has(p) {
			names = append(names, string(p))
		}
	}
	return strings.Join(names, ",")
}

// ProtocolPolicy says which protocols channels may use.
type ProtocolPolicy struct {
	Allowed Protocols
	// OneOnly says that all ports of the mux must have the same protocol: its provider can't mix, and its owner hasn't
	// set the protocols.
	OneOnly bool
}

// parseProtocols parses "TCP,UDP", in upper or lower case.
func parseProtocols(n *note) Protocols {
	var allowed Protocols
	for entry := range entries(n.value) {
		if n.full() {
			break
		}
		one := protocol(corev1.Protocol(upper(entry)))
		switch {
		case one == 0:
			n.problem("", entry, textProtocol(entry))
		case allowed&one != 0:
			n.problem("", entry, textTwice(entry))
		}
		allowed |= one
	}
	return allowed
}

// upper returns a protocol's name in capitals. It changes ASCII letters only, and returns "" for a text that is longer
// than any protocol's name.
func upper(s string) string {
	if len(s) > len(corev1.ProtocolSCTP) {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}
