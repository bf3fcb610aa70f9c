// Package manifest builds channels for Services that exist, and writes Services as files that kubectl applies.
package manifest

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kube "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/validation"
)

// Port is a port of a channel, and the number that it asks for on the mux.
type Port struct {
	corev1.ServicePort
	Number int32
}

// Channel returns a channel beside an existing Service: it has the same pods and IP families, and the given ports. The
// channel has no labels: monitoring and GitOps tools select Services by label, and would take the channel for the
// Service.
func Channel(lang validation.Language, beside *corev1.Service, name string, mux types.NamespacedName,
	ports []Port) *corev1.Service {
	class, nodePorts := lang.FormatClass(mux), false
	channel := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: beside.Namespace, Name: name},
		Spec: corev1.ServiceSpec{
			Type:                          corev1.ServiceTypeLoadBalancer,
			LoadBalancerClass:             &class,
			AllocateLoadBalancerNodePorts: &nodePorts,
			Selector:                      beside.Spec.Selector,
			PublishNotReadyAddresses:      beside.Spec.PublishNotReadyAddresses,
			IPFamilies:                    beside.Spec.IPFamilies,
			IPFamilyPolicy:                beside.Spec.IPFamilyPolicy,
		},
	}
	var overrides []string
	for _, port := range ports {
		if port.Number != port.Port {
			overrides = append(overrides, port.Name+":"+strconv.Itoa(int(port.Number)))
		}
		port.NodePort = 0
		channel.Spec.Ports = append(channel.Spec.Ports, port.ServicePort)
	}
	if len(overrides) > 0 {
		channel.Annotations = map[string]string{lang.Keys().ExternalPorts: strings.Join(overrides, ",")}
	}
	return channel
}

// PortName returns the name of a Service's port, or one that is made from its number: a channel's ports have names.
func PortName(port corev1.ServicePort) string {
	if port.Name != "" {
		return port.Name
	}
	return NameFor(port.Protocol, port.Port)
}

// NameFor returns a port name that is made from protocol and number, such as tcp-80.
func NameFor(protocol corev1.Protocol, number int32) string {
	if protocol == "" {
		protocol = corev1.ProtocolTCP
	}
	return strings.ToLower(string(protocol)) + "-" + strconv.Itoa(int(number))
}

// ChannelName returns the name of the channel beside a Service. A name that becomes too long is shortened.
func ChannelName(service, suffix string) string {
	if room := kube.DNS1035LabelMaxLength - len(suffix); len(service) > room {
		service = strings.TrimRight(service[:room], "-")
	}
	return service + suffix
}
