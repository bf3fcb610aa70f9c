package survey

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// channelsOf returns the channels among Services, by namespace.
func (o *Options) channelsOf(services []*corev1.Service) map[string][]*corev1.Service {
	channels := map[string][]*corev1.Service{}
	for _, svc := range services {
		if o.Lang.Classify(svc).Channel() {
			channels[svc.Namespace] = append(channels[svc.Namespace], svc)
		}
	}
	return channels
}

// moved says that a channel has the pods and ports of a Service already, and what is left to do; "" if no channel has them.
func moved(svc *corev1.Service, channels []*corev1.Service) string {
	for _, channel := range channels {
		if len(svc.Spec.Selector) > 0 && maps.Equal(svc.Spec.Selector, channel.Spec.Selector) && covers(channel, svc) {
			return fmt.Sprintf("channel %s has its pods: set its type to ClusterIP once clients use the channel", cli.Shown(channel.Name))
		}
	}
	return ""
}

// covers says that a channel leads to every port of the pods to which the Service leads.
func covers(channel, svc *corev1.Service) bool {
	for _, port := range svc.Spec.Ports {
		if !slices.ContainsFunc(channel.Spec.Ports, func(other corev1.ServicePort) bool { return targetOf(other) == targetOf(port) }) {
			return false
		}
	}
	return true
}

// targetOf returns a port of the pods, with its protocol. Without a target, it is the port's own number.
func targetOf(port corev1.ServicePort) string {
	target := port.TargetPort.String()
	if target == "0" || target == "" {
		target = fmt.Sprint(port.Port)
	}
	return target + "/" + string(cmp.Or(port.Protocol, corev1.ProtocolTCP))
}
