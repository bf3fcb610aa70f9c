package validation

import (
	"slices"
	"strings"
)

// Provider is what is known of a load balancer's maker. To add one, or one's limit, add a row to providers, a case
// to TestDetectProvider, and a Service to testdata/corpus/providers.yaml.
type Provider struct {
	// Name is for people; empty for a provider that we don't know.
	Name string
	// Key is its name in the provider annotation, and in ledgers.
	Key string
	// MaxPorts is how many ports a load balancer may have; 0 if we know of no limit.
	MaxPorts int
	// LimitReason is given when MaxPorts is the cap that counts.
	LimitReason Reason
	// Protocols are those that it carries.
	Protocols Protocols
	// CanMix is true if one load balancer carries different protocols.
	CanMix bool
}

// row is a Provider and the signs by which a mux of its is known.
type row struct {
	Provider
	signs
}

type signs struct {
	classes     []string // a class is one of these, or begins with one that ends in a slash
	annotations []string // an annotation's key begins with one of these
	defaults    []string // of these, the keys that the chart sets by default, whoever the provider is
	typeKey     string   // this annotation's value is one of the types
	types       []string
}

// providers is the table. Azure has no sign: a mux is known as Azure's by the provider annotation alone.
func providers() []row {
	return []row{
		{
			Provider{
				// Mixed protocols need GKE 1.34 and a Service made for it: its owner says so with allowed-protocols. It
				// forwards a run of numbers with one rule, which is one more reason to pick the lowest that is free.
				Name: "GKE", Key: "gke", MaxPorts: 100, LimitReason: GkePortLimitApplied, Protocols: TCP | UDP,
			},
			signs{
				classes:     []string{"networking.gke.io/"},
				annotations: []string{"cloud.google.com/", "networking.gke.io/"},
				defaults:    []string{"cloud.google.com/l4-rbs"},
			},
		},
		{
			Provider{
				Name: "AWS NLB", Key: "aws", MaxPorts: 50, LimitReason: ProviderPortLimitApplied, Protocols: TCP | UDP, CanMix: true,
			},
			signs{
				classes: []string{"service.k8s.aws/nlb", "eks.amazonaws.com/nlb"},
				typeKey: "service.beta.kubernetes.io/aws-load-balancer-type",
				types:   []string{"nlb", "nlb-ip", "external"},
			},
		},
		{Provider{Name: "Azure", Key: "azure", Protocols: TCP | UDP, CanMix: true}, signs{}},
	}
}

// unknownProvider promises nothing and forbids nothing.
func unknownProvider() Provider {
	return Provider{Protocols: TCP | UDP | SCTP, CanMix: true}
}

// noProvider is what the provider annotation calls a provider that we don't know.
const noProvider = "none"

// ProviderCalled returns the provider of a key: what a ledger recorded. It is false for one that we don't know.
func ProviderCalled(key string) (Provider, bool) {
	found, known := providerCalled(key)
	return found, known && found.Key != ""
}

func providerCalled(key string) (Provider, bool) {
	for _, r := range providers() {
		if r.Key == key {
			return r.Provider, true
		}
	}
	return unknownProvider(), key == noProvider
}

// detectProvider goes by the first of these that tells: the class, which is what a controller goes by; the provider annotation;
// an annotation that the mux's owner chose; an annotation that the chart sets by default. It returns false if none does.
func detectProvider(class, named string, annotations map[string]string) (Provider, bool) {
	table := providers()
	for _, r := range table {
		if class != "" && r.inClass(class) {
			return r.Provider, true
		}
	}
	if named != "" {
		return providerCalled(named)
	}
	for _, inAnnotations := range [...]func(signs, map[string]string) bool{signs.chosen, signs.byDefault} {
		for _, r := range table {
			if inAnnotations(r.signs, annotations) {
				return r.Provider, true
			}
		}
	}
	return unknownProvider(), false
}

func (s signs) inClass(class string) bool {
	return slices.ContainsFunc(s.classes, func(known string) bool {
		return class == known || strings.HasSuffix(known, "/") && strings.HasPrefix(class, known)
	})
}

// chosen is true for annotations that the mux's owner set for this provider.
func (s signs) chosen(annotations map[string]string) bool {
	if s.typeKey != "" && slices.Contains(s.types, annotations[s.typeKey]) {
		return true
	}
	for key := range annotations {
		if s.begins(key) && !slices.Contains(s.defaults, key) {
			return true
		}
	}
	return false
}

// byDefault is true for annotations that the chart sets by default.
func (s signs) byDefault(annotations map[string]string) bool {
	return slices.ContainsFunc(s.defaults, func(key string) bool {
		_, set := annotations[key]
		return set
	})
}

func (s signs) begins(key string) bool {
	return slices.ContainsFunc(s.annotations, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// protocols returns what channels may use where the mux's owner doesn't say.
func (p Provider) protocols() ProtocolPolicy {
	return ProtocolPolicy{Allowed: p.Protocols, OneOnly: !p.CanMix}
}

// Under returns the mux with the limits of a provider that it was known under before: its cap is no higher than that
// provider's, and its protocols are that provider's unless the owner states them.
func (m Mux) Under(p Provider) Mux {
	m.Provider = p
	if p.MaxPorts > 0 && m.Cap.Ports > p.MaxPorts {
		m.Cap = Cap{Ports: p.MaxPorts, Reason: p.LimitReason}
	}
	if !m.ProtocolsStated {
		m.Protocols = p.protocols()
	}
	return m
}
