package validation

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Object holds the metadata of a Service that decisions need.
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
// If the channel has problems, only Object, Recorded, and the Ports' names, protocols and numbers are reliable: they
// say what an incumbent may keep. A Request that can't be parsed is Unread, and Mux is empty if the class can't be
// parsed.
type Channel struct {
	Object
	Mux   types.NamespacedName
	Ports []ChannelPort // in the order of spec.ports
	// Disabled withdraws the channel; its numbers are held.
	Disabled bool
	// Hostnames are the DNS names to publish on the mux, in lower case, sorted.
	Hostnames []string
	// Direct are the DNS names that external-dns takes from the channel itself, sorted.
	Direct []DirectName
	// Proxied is the channel's setting for Cloudflare's proxy.
	Proxied Switch
	// Families are the IP families of the channel's own addresses.
	Families []corev1.IPFamily
	// SourceRanges are the networks that may connect, also malformed ones and those of the older annotation, as messages
	// show them: sorted, quoted and shortened. It is empty if every network may connect.
	SourceRanges string
	// SourceRangeCount is how many they are.
	SourceRangeCount int
	// Recorded are the public numbers in the channel's ports annotation. The channel's owner can edit it, so trust it
	// only for numbers that the owner may ask for.
	Recorded []PortMapping
}

// ChannelPort is a port of a channel.
type ChannelPort struct {
	Name        string
	Protocol    corev1.Protocol
	Port        int32 // the port's number in the channel
	Request     Request
	AppProtocol string
}

// ParseChannel parses a Service as a channel.
func (l Language) ParseChannel(svc *corev1.Service) (Channel, Findings) {
	var found Findings
	channel := Channel{
		Object:   objectOf(&svc.ObjectMeta),
		Mux:      l.muxOf(svc, &found),
		Direct:   l.directNames(svc),
		Proxied:  parseSwitch(cmp.Or(svc.Annotations[CloudflareProxied], svc.Annotations[FormerCloudflareProxied])),
		Families: svc.Spec.IPFamilies,
	}
	checkType(svc, IsChannel, &found)
	l.checkRoles(svc, &found)
	channel.Disabled = l.disabled(svc, &found)
	channel.Ports = l.channelPorts(svc, &found)
	channel.SourceRanges, channel.SourceRangeCount = sourceRanges(svc, &found), len(SourceRangesOf(svc))
	if n, set := noteAt(svc, l.keys.ChannelHostname, InvalidHostname, &found); set {
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

// noteAt returns a note for an annotation, and whether the annotation is set.
func noteAt(svc *corev1.Service, key string, reason Reason, found *Findings) (note, bool) {
	value, set := svc.Annotations[key]
	return note{to: found, reason: reason, key: key, name: shortName(key), value: value}, set
}

// checkType checks spec.type. A channel can have a wrong type only in a file: an API server accepts a class only on a
// LoadBalancer.
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
	n, set := noteAt(svc, l.keys.Disabled, InvalidDisabled, found)
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
	n, set := noteAt(svc, l.keys.ExternalPorts, InvalidPortMapping, found)
	if set {
		parseExternalPorts(&n, channel, index)
		checkRangeRequests(&n, channel, svc.Spec.Ports)
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

// protocolOf returns the port's protocol, or the API server's default: a file may omit it.
func protocolOf(port *corev1.ServicePort) corev1.Protocol {
	if port.Protocol == "" {
		return corev1.ProtocolTCP
	}
	return port.Protocol
}
