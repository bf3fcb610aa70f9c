package validation

import (
	"slices"
	"strings"
)

// Provider describes a provider of load balancers and its limits. To add a provider or a limit, add a row to providers,
// a case to TestDetectProvider, and a Service to testdata/corpus/providers.yaml.
type Provider struct {
	// Name is for messages; empty for an unknown provider.
	Name string
	// Key is the provider's name in the provider annotation and in ledgers.
	Key string
	// MaxPorts is how many ports a load balancer may have; 0 without a known limit.
	MaxPorts int
	// LimitReason is the reason in messages when MaxPorts is the cap.
	LimitReason Reason
	// Protocols are the protocols that its load balancers carry.
	Protocols Protocols
	// CanMix says that one load balancer can carry different protocols.
	CanMix bool
}

// providerRow is a Provider and the signs by which its muxes are detected.
type providerRow struct {
	Provider
	signs
}

type signs struct {
	classes     []string // the class is one of these, or begins with one that ends in a slash
	annotations []string // an annotation's key begins with one of these
	defaults    []string // keys with such a prefix that the chart sets by default
	typeKey     string   // an annotation: if its value is one of types, the mux is this provider's
	types       []string
}

// providers is the table of known providers. Azure has no signs: only the provider annotation tells that a mux is on
// Azure.
func providers() []providerRow {
	return []providerRow{
		{
			Provider{
				// Mixed protocols need GKE 1.34 and a Service made for it: the mux's owner enables them with
				// allowed-protocols. GKE needs one forwarding rule for a run of numbers, which is another reason to
				// take the lowest free number.
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
				Name: "AWS NLB", Key: "aws", MaxPorts: 50, LimitReason: ProviderPortLimitApplied, Protocols: TCP | UDP,
				CanMix: true,
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

// unknownProvider has no limits.
func unknownProvider() Provider {
	return Provider{Protocols: TCP | UDP | SCTP, CanMix: true}
}

// noProvider is the value of the provider annotation for an unknown provider.
const noProvider = "none"

// ProviderCalled returns the provider of a key that a ledger recorded. It returns false for an unknown provider.
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

// detectProvider uses the first sign that tells the provider: the class, which selects the controller; the provider
// annotation; an annotation that the mux's owner chose; an annotation that the chart sets by default. It returns false
// if there is no sign, or only an annotation that the chart sets by default.
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
	for _, r := range table {
		if r.setByOwner(annotations) {
			return r.Provider, true
		}
	}
	for _, r := range table {
		if r.setByChart(annotations) {
			return r.Provider, false
		}
	}
	return unknownProvider(), false
}

func (s signs) inClass(class string) bool {
	return slices.ContainsFunc(s.classes, func(known string) bool {
		return class == known || strings.HasSuffix(known, "/") && strings.HasPrefix(class, known)
	})
}

// setByOwner says that the mux's owner set annotations of this provider.
func (s signs) setByOwner(annotations map[string]string) bool {
	if s.typeKey != "" && slices.Contains(s.types, annotations[s.typeKey]) {
		return true
	}
	for key := range annotations {
		if s.hasKey(key) && !slices.Contains(s.defaults, key) {
			return true
		}
	}
	return false
}

// setByChart says that there are annotations that the chart sets by default.
func (s signs) setByChart(annotations map[string]string) bool {
	return slices.ContainsFunc(s.defaults, func(key string) bool {
		_, set := annotations[key]
		return set
	})
}

func (s signs) hasKey(key string) bool {
	return slices.ContainsFunc(s.annotations, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// protocols returns the protocols that channels may use if the mux's owner sets none.
func (p Provider) protocols() ProtocolPolicy {
	return ProtocolPolicy{Allowed: p.Protocols, OneOnly: !p.CanMix}
}

// Under returns the mux with the limits of its former provider: the cap is at most that provider's, and the protocols
// are that provider's unless the mux's owner set them.
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
