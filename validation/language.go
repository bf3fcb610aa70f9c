package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Language is what Services are read in: a prefix for annotations and classes, and the namespace of muxes that are
// named without one. Made by New; its zero value knows no prefix and finds only strangers.
type Language struct {
	prefix    string
	namespace string
	keys      Keys
	external  []string // the annotations by which external-dns takes names from a Service
}

// New returns the language under a prefix, a DNS name such as DefaultPrefix.
func New(prefix, defaultMuxNamespace string) (Language, error) {
	if !isDNSName(prefix) {
		return Language{}, fmt.Errorf("prefix %s is not a DNS name in lower case, such as %s", quote(prefix), DefaultPrefix)
	}
	if !isLabel(defaultMuxNamespace) {
		return Language{}, fmt.Errorf("default mux namespace %s is not the name of a namespace", quote(defaultMuxNamespace))
	}
	l := Language{prefix: prefix, namespace: defaultMuxNamespace, keys: keysUnder(prefix)}
	return l.WithExternalDNS(ExternalDNSPrefixes())
}

// Prefix returns what the language's annotations and classes begin with, without the slash.
func (l Language) Prefix() string { return l.prefix }

// DefaultMuxNamespace returns the namespace of a mux that a class names without one.
func (l Language) DefaultMuxNamespace() string { return l.namespace }

// Keys returns the names of annotations and conditions.
func (l Language) Keys() Keys { return l.keys }

// Kind is what a Service is to us.
type Kind uint8

// The kinds of Services. Both is a mistake that every parser reports.
const (
	Stranger  Kind = 0
	IsMux     Kind = 1
	IsChannel Kind = 2
	Both      Kind = IsMux | IsChannel
)

// Mux is true for a mux, a mistaken Both included.
func (k Kind) Mux() bool { return k&IsMux != 0 }

// Channel is true for a channel, a mistaken Both included.
func (k Kind) Channel() bool { return k&IsChannel != 0 }

func (k Kind) String() string {
	switch k {
	case Stranger:
		return "stranger"
	case IsMux:
		return "mux"
	case IsChannel:
		return "channel"
	}
	return "both"
}

// Classify says what a Service is to us, without judging it: a class under our prefix makes a channel however
// malformed it is, and so does the bare prefix; any multiplexer annotation but "false" makes a mux. So a slip is
// reported, where it would otherwise quietly turn a Service into a stranger.
func (l Language) Classify(svc *corev1.Service) Kind {
	kind := Stranger
	if l.prefix == "" {
		return kind
	}
	if value, set := svc.Annotations[l.keys.Multiplexer]; set && value != "false" {
		kind |= IsMux
	}
	if svc.Spec.LoadBalancerClass != nil && l.ownsClass(*svc.Spec.LoadBalancerClass) {
		kind |= IsChannel
	}
	return kind
}

// ownsClass is true for the prefix, bare or followed by a slash: svc-mux.nowake.ai.evil/x is somebody else's.
func (l Language) ownsClass(class string) bool {
	rest, found := strings.CutPrefix(class, l.prefix)
	return found && (rest == "" || rest[0] == '/')
}
