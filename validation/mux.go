package validation

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Mux is a Service that owns a provider's load balancer and shares it among channels.
//
// Of a mux with problems, Object, Ports, Families, Class, Generation and the notes may be relied on; its settings
// may not, so nothing new is decided for it.
type Mux struct {
	Object
	// Ports are all of spec.ports, foreign ones included. They are the Service's own: never change them.
	Ports []corev1.ServicePort
	// Families are those of the mux's own addresses.
	Families []corev1.IPFamily
	// Class is the provider's load balancer class, if one is named.
	Class    string
	Provider Provider
	// ProviderNamed is true if the class or an annotation tells the provider, be it that there is none of those that we know.
	ProviderNamed bool
	// ProtocolsStated is true if Protocols are the owner's, not the provider's.
	ProtocolsStated bool
	// Disabled asks for a pause.
	Disabled bool

	Auto            PortRanges // where auto ports come from; empty if there is no range
	Explicit        PortRanges // where channels may ask for numbers of their own
	Cap             Cap
	CapPerNamespace int // how many ports one namespace may have; 0 if not limited

	Namespaces Namespaces
	Hostnames  Hostnames
	Protocols  ProtocolPolicy

	// Ledger names the ConfigMap that the mux's owner wants for the ledger, in the mux's namespace.
	Ledger string
	// LedgerInForce names the ConfigMap that the reconciler stamped on the mux; empty if there is no stamp.
	LedgerInForce string

	Grace       time.Duration
	Placeholder Placeholder

	// Generation is the ledger's as stamped on the mux; 0 if it isn't stamped.
	Generation int64
	// DNS is what external-dns is told now, OurDNS which part of that we wrote.
	DNS, OurDNS ExternalDNS
	// Channels, Topology and Summary are what people are told now.
	Channels, Topology, Summary string
}

// Cap is how many ports a mux may have: every entry of spec.ports counts.
type Cap struct {
	Ports int
	// Reason is given if the cap is the provider's, and empty if it is the owner's or the default.
	Reason Reason
}

// Placeholder is what the mux's owner wants of the placeholder port.
type Placeholder uint8

// The choices. Usually, the placeholder stays only if it is declared by whoever applies the mux.
const (
	PlaceholderUsual Placeholder = iota
	PlaceholderKeep
	PlaceholderRemove
)

// ParseMux reads a Service as a mux.
func (l Language) ParseMux(svc *corev1.Service) (Mux, Findings) {
	var found Findings
	mux := Mux{
		Object:   objectOf(&svc.ObjectMeta),
		Ports:    svc.Spec.Ports,
		Families: svc.Spec.IPFamilies,
		DNS:      parseExternalDNS(svc.Annotations[ExternalDNSHostname], svc.Annotations[CloudflareProxied]),
		OurDNS:   ParseAggregated(svc.Annotations[l.keys.AggregatedExternalDNS]),
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
	l.warnMux(svc, &mux, &found)
	l.warnAnnotations(svc, IsMux, &found)
	found.sort()
	return mux, found
}

func (l Language) checkMux(svc *corev1.Service, found *Findings) {
	n, set := l.note(svc, l.keys.Multiplexer, multiplexer, InvalidMultiplexer, found)
	if !set || n.value != "true" {
		n.problem("", n.value, textTrueOrFalse(n.value))
	}
	checkType(svc, IsMux, found)
	l.checkRoles(svc, found)
	if len(svc.Spec.Selector) > 0 {
		// Without the labels as value: changing them is no news to the ratchet.
		found.problem(NotSupported, "spec.selector", "", "", textSelector(svc.Spec.Selector))
	}
	checkPorts(svc, IsMux, found)
}

func (l Language) warnMux(svc *corev1.Service, mux *Mux, found *Findings) {
	if svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		found.warn(LocalTrafficPolicy, "spec.externalTrafficPolicy", "", string(svc.Spec.ExternalTrafficPolicy),
			textLocalPolicy())
	}
	if !l.addressable(mux.Key) {
		found.warn(MuxNotAddressable, "metadata.name", "", mux.Key.Name, textNotAddressable(mux.Key, l.namespace))
	}
}

// ledgerSuffix ends the default name of a ledger.
const ledgerSuffix = "-port-allocations"

// ledgerName returns the default name of a mux's ledger. One that is too long for a label keeps its suffix and as
// much of the mux's name as fits beside eight digits of its hash.
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
