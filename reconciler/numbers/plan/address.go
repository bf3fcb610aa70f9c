package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// shown returns a mux's address as its channels show it: without ports, and every IP with ipMode Proxy. Without that
// mode, kube-proxy would take the address for the channel's own and send traffic for it to the channel's ports, also
// traffic for other channels.
func shown(address []corev1.LoadBalancerIngress) []corev1.LoadBalancerIngress {
	proxy := corev1.LoadBalancerIPModeProxy
	var channel []corev1.LoadBalancerIngress
	for _, ingress := range address {
		ingress.Ports = nil
		if ingress.IP != "" {
			ingress.IPMode = &proxy
		}
		channel = append(channel, ingress)
	}
	return channel
}

// sameAddress compares addresses as sets: providers change the order.
func sameAddress(a, b []corev1.LoadBalancerIngress) bool {
	if slices.EqualFunc(a, b, sameIngress) {
		return true
	}
	return slices.Equal(addressText(a), addressText(b))
}

func sameIngress(a, b corev1.LoadBalancerIngress) bool {
	return a.IP == b.IP && a.Hostname == b.Hostname && ptr.Equal(a.IPMode, b.IPMode)
}

func addressText(address []corev1.LoadBalancerIngress) []string {
	text := make([]string, 0, len(address))
	for _, ingress := range address {
		mode := ptr.Deref(ingress.IPMode, "")
		text = append(text, strings.Join([]string{ingress.IP, ingress.Hostname, string(mode)}, " "))
	}
	slices.Sort(text)
	return slices.Compact(text)
}
