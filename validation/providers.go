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
	typeKey     string   // this annotation's value is one of the types
	types       []string
}

// providers is the table. The first row that fits is taken: first by class, then by annotations.
func providers() []row {
	return []row{
		{
			Provider{
				// Mixed protocols need GKE 1.34 and a Service made for it: its owner says so with allowed-protocols. It
				// forwards a run of numbers with one rule, which is one more reason to pick the lowest that is free.
				Name: "GKE", MaxPorts: 100, LimitReason: GkePortLimitApplied, Protocols: TCP | UDP,
			},
			signs{
				classes:     []string{"networking.gke.io/"},
				annotations: []string{"cloud.google.com/", "networking.gke.io/"},
			},
		},
		{
			Provider{
				Name: "AWS NLB", MaxPorts: 50, LimitReason: ProviderPortLimitApplied, Protocols: TCP | UDP, CanMix: true,
			},
			signs{
				classes: []string{"service.k8s.aws/nlb", "eks.amazonaws.com/nlb"},
				typeKey: "service.beta.kubernetes.io/aws-load-balancer-type",
				types:   []string{"nlb", "nlb-ip", "external"},
			},
		},
	}
}

// unknownProvider promises nothing and forbids nothing.
func unknownProvider() Provider {
	return Provider{Protocols: TCP | UDP | SCTP, CanMix: true}
}

// detectProvider goes by class first: it is what a controller goes by, where annotations may be left over.
func detectProvider(class string, annotations map[string]string) Provider {
	table := providers()
	for _, r := range table {
		if class != "" && r.inClass(class) {
			return r.Provider
		}
	}
	for _, r := range table {
		if r.inAnnotations(annotations) {
			return r.Provider
		}
	}
	return unknownProvider()
}

func (s signs) inClass(class string) bool {
	return slices.ContainsFunc(s.classes, func(known string) bool {
		return class == known || strings.HasSuffix(known, "/") && strings.HasPrefix(class, known)
	})
}

func (s signs) inAnnotations(annotations map[string]string) bool {
	if s.typeKey != "" && slices.Contains(s.types, annotations[s.typeKey]) {
		return true
	}
	for key := range annotations {
		if s.begins(key) {
			return true
		}
	}
	return false
}

func (s signs) begins(key string) bool {
	return slices.ContainsFunc(s.annotations, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// protocols returns what channels may use where the mux's owner doesn't say.
func (p Provider) protocols() ProtocolPolicy {
	return ProtocolPolicy{Allowed: p.Protocols, OneOnly: !p.CanMix}
}
