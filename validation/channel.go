package validation

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Object is what every decision needs to know of a Service, whatever it is.
type Object struct {
	Key             types.NamespacedName
	UID             types.UID
	ResourceVersion string
	Created         time.Time
	Deleting        bool
}

func objectOf(meta *metav1.ObjectMeta) Object {
	return Object{
		Key:             types.NamespacedName{Namespace: meta.Namespace, Name: meta.Name},
		UID:             meta.UID,
		ResourceVersion: meta.ResourceVersion,
		Created:         meta.CreationTimestamp.Time,
		Deleting:        meta.DeletionTimestamp != nil,
	}
}

// Channel is a Service whose load balancer is a mux.
//
// Of a channel with problems only Object, Recorded and the Ports' names, protocols and numbers may be relied on: they
// say what an incumbent may keep. A port's Request is Unread where it couldn't be understood, and Mux is empty if
// the class couldn't.
type Channel struct {
	Object
	Mux   types.NamespacedName
	Ports []ChannelPort // in the order of spec.ports
	// Disabled asks for the channel to be withdrawn and its numbers held.
	Disabled bool
	// Hostnames are the DNS names to gather, in lower case, sorted.
	Hostnames []string
	// Direct are the DNS names that external-dns takes from the channel itself, sorted.
	Direct []DirectName
	// Proxied is the channel's wish for Cloudflare's proxy.
	Proxied Switch
	// Families are those of the channel's own addresses.
	Families []corev1.IPFamily
	// Recorded is what the Service says it was given. Its owner can write that too: trust it no further than what
	// they may ask for anyway.
	Recorded []PortMapping
}

// ChannelPort is one of a channel's ports.
type ChannelPort struct {
	Name        string
	Protocol    corev1.Protocol
	Port        int32 // its own number
	Request     Request
	AppProtocol string
}

// ParseChannel reads a Service as a channel.
func (l Language) ParseChannel(svc *corev1.Service) (Channel, Findings) {
	var found Findings
	channel := Channel{
		Object:   objectOf(&svc.ObjectMeta),
		Mux:      l.muxOf(svc, &found),
		Direct:   l.directNames(svc),
		Proxied:  parseSwitch(svc.Annotations[CloudflareProxied]),
		Families: svc.Spec.IPFamilies,
	}
	checkType(svc, IsChannel, &found)
	l.checkRoles(svc, &found)
	channel.Disabled = l.disabled(svc, &found)
	channel.Ports = l.channelPorts(svc, &found)
	refuseSourceRanges(svc, &found)
	if n, set := l.note(svc, l.keys.ChannelHostname, externalDNSHostname, InvalidHostname, &found); set {
		channel.Hostnames = parseHostnames(&n)
	}
	if recorded, set := svc.Annotations[l.keys.Ports]; set {
		channel.Recorded, _ = ParsePorts(recorded)
	}
	warnChannel(svc, &found)
	l.warnAnnotations(svc, IsChannel, &found)
	found.sort()
	return channel, found
}

// note begins the parsing of an annotation; false if it isn't there.
func (l Language) note(svc *corev1.Service, key, name string, reason Reason, found *Findings) (note, bool) {
	value, set := svc.Annotations[key]
	return note{to: found, reason: reason, key: key, name: name, value: value}, set
}

// checkType is for files that no API server has seen: it lets a class stand on a LoadBalancer only.
func checkType(svc *corev1.Service, what Kind, found *Findings) {
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		found.problem(NotLoadBalancer, "spec.type", "", string(svc.Spec.Type),
			textNotLoadBalancer(what, string(svc.Spec.Type)))
	}
}

func (l Language) checkRoles(svc *corev1.Service, found *Findings) {
	if l.Classify(svc) == Both {
		class := *svc.Spec.LoadBalancerClass
		found.problem(MuxIsChannel, "spec.loadBalancerClass", "", class, textMuxIsChannel(class))
	}
}

func (l Language) disabled(svc *corev1.Service, found *Findings) bool {
	n, set := l.note(svc, l.keys.Disabled, disabled, InvalidDisabled, found)
	if set && n.value != "true" && n.value != "false" {
		n.problem("", n.value, textTrueOrFalse(n.value))
	}
	return n.value == "true"
}

func (l Language) channelPorts(svc *corev1.Service, found *Findings) []ChannelPort {
	channel := make([]ChannelPort, len(svc.Spec.Ports))
	for i := range svc.Spec.Ports {
		channel[i] = channelPort(&svc.Spec.Ports[i])
	}
	index := checkPorts(svc, IsChannel, found)
	if count := len(channel); count > MaxChannelPorts {
		found.exceeds(InvalidPort, "spec.ports", textTooManyPorts(count))
	}
	n, set := l.note(svc, l.keys.ExternalPorts, externalPorts, InvalidPortMapping, found)
	if set {
		parseExternalPorts(&n, channel, index)
	}
	refuseClashes(&n, channel)
	return channel
}

func channelPort(port *corev1.ServicePort) ChannelPort {
	parsed := ChannelPort{
		Name: port.Name, Protocol: protocolOf(port), Port: port.Port,
		Request: Request{Kind: Own, Number: port.Port},
	}
	if port.AppProtocol != nil {
		parsed.AppProtocol = *port.AppProtocol
	}
	return parsed
}

// protocolOf fills in what the API server would: a file may leave the protocol out.
func protocolOf(port *corev1.ServicePort) corev1.Protocol {
	if port.Protocol == "" {
		return corev1.ProtocolTCP
	}
	return port.Protocol
}

// refuseSourceRanges: dropped silently, they would open what their owner closed. An empty annotation closes nothing.
func refuseSourceRanges(svc *corev1.Service, found *Findings) {
	if ranges := svc.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		const part = "spec.loadBalancerSourceRanges"
		// In order, or the same ranges sorted anew would be news to the ratchet.
		value := strings.Join(slices.Sorted(slices.Values(ranges)), ",")
		found.problem(SourceRangesNotSupported, part, "", value, textSourceRanges(part, value))
	}
	const key = corev1.AnnotationLoadBalancerSourceRangesKey
	if value := svc.Annotations[key]; trim(value) != "" {
		found.problem(SourceRangesNotSupported, annotationField(key), "", value, textSourceRanges(key, value))
	}
}
