package validation

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Mux is a Service that owns the load balancer of a provider or of gateways, and shares it among channels.
//
// If the mux has problems, Object, Ports, Families, Class, Generation and the annotations that we write are reliable.
// Its settings aren't, so nothing new is decided for it.
type Mux struct {
	Object
	// Ports are all of spec.ports, foreign ones included. The slice is shared with the Service: never change it.
	Ports []corev1.ServicePort
	// Families are the IP families of the mux's own addresses.
	Families []corev1.IPFamily
	// Class is spec.loadBalancerClass, or empty.
	Class    string
	Provider Provider
	// Pool is the pool of gateways that carries the mux; empty for a provider's mux.
	Pool string
	// ProviderNamed says that the class determines the provider, or an annotation that the owner chose (also with the
	// value "none"). It is false if nothing does, or only an annotation that the chart sets by default.
	ProviderNamed bool
	// ProtocolsStated says that the mux's owner set Protocols; otherwise they are the provider's.
	ProtocolsStated bool
	// Disabled pauses the mux.
	Disabled bool

	Auto            PortRanges // the numbers for auto ports; empty without a range
	Explicit        PortRanges // the numbers that channels may choose
	Cap             Cap
	CapPerNamespace int // how many ports one namespace may have; 0 if not limited

	Namespaces Namespaces
	Hostnames  Hostnames
	Protocols  ProtocolPolicy

	// Ledger is the name that the mux's owner wants for the ledger's ConfigMap, which is in the mux's namespace.
	Ledger string
	// LedgerInForce is the name of the ConfigMap that the reconciler stamped on the mux; empty if there is no stamp.
	LedgerInForce string

	Grace       time.Duration
	Placeholder Placeholder

	// Generation is the ledger generation stamped on the mux; 0 without a stamp.
	Generation int64
	// DNS holds the current values of external-dns's annotations on the mux, and OurDNS the part of them that we wrote.
	DNS, OurDNS MuxDNS
	// Ranges are the ranges in the ranges annotation of a mux on gateways, sorted.
	Ranges []MuxRange
	// Channels, Topology and Summary are the current annotations for people.
	Channels, Topology, Summary string
}

// Cap is how many ports a mux may have. Every entry of spec.ports counts.
type Cap struct {
	Ports int
	// Reason is set if the provider's limit is the cap. It is empty if the owner's cap or the default applies.
	Reason Reason
}

// Placeholder is the owner's choice for the placeholder port.
type Placeholder uint8

// The choices. PlaceholderUsual keeps the placeholder only if the mux's applier declares it.
const (
	PlaceholderUsual Placeholder = iota
	PlaceholderKeep
	PlaceholderRemove
)

// ParseMux parses a Service as a mux.
func (l Language) ParseMux(svc *corev1.Service) (Mux, Findings) {
	var found Findings
	mux := Mux{
		Object:   objectOf(&svc.ObjectMeta),
		Ports:    svc.Spec.Ports,
		Families: svc.Spec.IPFamilies,
		DNS:      parseExternalDNS(svc),
		OurDNS:   ParseAggregated(svc.Annotations[l.keys.AggregatedExternalDNS]),
		Ranges:   ParseRanges(svc.Annotations[l.keys.Ranges]),
		Channels: svc.Annotations[l.keys.Channels],
		Topology: svc.Annotations[l.keys.Topology],
		Summary:  svc.Annotations[l.keys.Summary],
	}
	if svc.Spec.LoadBalancerClass != nil {
		mux.Class = *svc.Spec.LoadBalancerClass
	}
	l.checkMux(svc, &found)
	mux.Disabled = l.disabled(svc, &found)
	l.muxSettings(svc, &mux, &found)
	l.checkGateways(svc, &mux, &found)
	l.warnMux(svc, &mux, &found)
	l.warnAnnotations(svc, IsMux, &found)
	found.sort()
	return mux, found
}

func (l Language) checkMux(svc *corev1.Service, found *Findings) {
	n, set := noteAt(svc, l.keys.Multiplexer, InvalidMultiplexer, found)
	if !set || n.value != "true" {
		n.problem("", n.value, textTrueOrFalse(n.value))
	}
	checkType(svc, IsMux, found)
	l.checkRoles(svc, found)
	if len(svc.Spec.Selector) > 0 {
		// The labels aren't part of the problem's value, so that changing them isn't a new problem to the ratchet.
		found.problem(NotSupported, "spec.selector", "", "", textSelector(svc.Spec.Selector))
	}
	checkPorts(svc, IsMux, found)
}

func (l Language) warnMux(svc *corev1.Service, mux *Mux, found *Findings) {
	if svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		found.warn(LocalTrafficPolicy, "spec.externalTrafficPolicy", "", string(svc.Spec.ExternalTrafficPolicy),
			textLocalPolicy())
	}
	if !isAddressable(mux.Key, l.namespace) {
		found.warn(MuxNotAddressable, "metadata.name", "", mux.Key.Name, textNotAddressable(mux.Key, l.namespace))
	}
}

// ledgerSuffix is the suffix of a ledger's default name.
const ledgerSuffix = "-port-allocations"

// ledgerName returns the default name of a mux's ledger. A name too long for a label is shortened: part of the mux's
// name, eight hex digits of its hash, and the suffix.
func ledgerName(mux string) string {
	name := mux + ledgerSuffix
	if len(name) <= maxLabel {
		return name
	}
	sum := sha256.Sum256([]byte(mux))
	hash := "-" + hex.EncodeToString(sum[:4])
	room := maxLabel - len(hash) - len(ledgerSuffix)
	return strings.TrimRight(mux[:room], "-") + hash + ledgerSuffix
}
