package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Language parses Services. It holds the prefix of annotations and classes, and the namespace of muxes that are named
// without one. New makes it; the zero value has no prefix, so every Service is a stranger to it.
type Language struct {
	prefix    string
	namespace string
	keys      Keys
	names     map[string]key // by name without prefix
	external  []string       // the annotations from which external-dns takes a Service's names
}

// New returns the language for a prefix, a DNS name such as DefaultPrefix.
func New(prefix, defaultMuxNamespace string) (Language, error) {
	if !isDNSName(prefix) {
		return Language{}, fmt.Errorf("prefix %s is not a DNS name in lower case, such as %s", quote(prefix), DefaultPrefix)
	}
	if !IsLabel(defaultMuxNamespace) {
		return Language{}, fmt.Errorf("default mux namespace %s is not the name of a namespace", quote(defaultMuxNamespace))
	}
	l := Language{prefix: prefix, namespace: defaultMuxNamespace, keys: keysUnder(prefix), names: byName()}
	return l.WithExternalDNS(ExternalDNSPrefixes())
}

// Prefix returns the prefix of annotations and classes, without the slash.
func (l Language) Prefix() string { return l.prefix }

// DefaultMuxNamespace returns the namespace of a mux whose class has no namespace.
func (l Language) DefaultMuxNamespace() string { return l.namespace }

// Keys returns the names of all annotations and conditions.
func (l Language) Keys() Keys { return l.keys }

// Kind says whether a Service is a mux, a channel, both, or neither.
type Kind uint8

// The kinds of Services. Stranger is neither mux nor channel. Both is a mistake that every parser reports.
const (
	Stranger  Kind = 0
	IsMux     Kind = 1
	IsChannel Kind = 2
	Both      Kind = IsMux | IsChannel
)

// Mux says that the kind is a mux, or by mistake both.
func (k Kind) Mux() bool { return k&IsMux != 0 }

// Channel says that the kind is a channel, or by mistake both.
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

// Classify returns the kind of a Service without judging it. A class under our prefix makes a channel, even a malformed
// one or the bare prefix. Any multiplexer annotation except "false" makes a mux. So a typo is reported; otherwise it
// would silently make the Service a stranger.
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

// ownsClass says that the class is the prefix, alone or followed by a slash. The class svc-mux.nowake.ai.evil/x isn't
// ours.
func (l Language) ownsClass(class string) bool {
	rest, found := strings.CutPrefix(class, l.prefix)
	return found && (rest == "" || rest[0] == '/')
}
