package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// checkRangeRequests checks the ranges that a channel asks for in external-ports. The channel alone doesn't tell
// whether its mux is on gateways, so every range gets a warning.
func checkRangeRequests(n *note, channel []ChannelPort, ports []corev1.ServicePort) {
	for i, port := range channel {
		if !port.Request.IsRange() {
			continue
		}
		run := port.Request.Run()
		if target := targetOf(&ports[i]); target+run.Last-run.First > MaxPort {
			n.problem(port.Name, run.String(), textRangeTarget(port, target))
		}
		if port.Protocol == corev1.ProtocolTCP && run.First <= PlaceholderPort && PlaceholderPort <= run.Last {
			n.problem(port.Name, run.String(), textRangePlaceholder(port))
		}
		n.warn(PortRangesNeedGateways, port.Name, run.String(), textPortRangeNeedsGateways(port))
	}
}

// targetOf returns the target port of the first number. It is 0 for a named target port: only pods tell its number.
func targetOf(port *corev1.ServicePort) int32 {
	switch {
	case port.TargetPort.Type == intstr.String:
		return 0
	case port.TargetPort.IntVal == 0:
		return port.Port
	}
	return port.TargetPort.IntVal
}
