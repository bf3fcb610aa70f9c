package foreign

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// addresses returns the addresses of a Service's status, with their mode if it isn't the default.
func addresses(svc *corev1.Service) []string {
	var all []string
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		text := ingress.IP + ingress.Hostname
		if ingress.IPMode != nil && *ingress.IPMode != corev1.LoadBalancerIPModeVIP {
			text += " " + string(*ingress.IPMode)
		}
		all = append(all, text)
	}
	return all
}

// conditions returns our conditions, as "Accepted True, …".
func conditions(svc *corev1.Service) string {
	var all []string
	for _, c := range svc.Status.Conditions {
		if kind, ours := strings.CutPrefix(c.Type, prefix+"/"); ours {
			all = append(all, kind+" "+string(c.Status))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// managers returns the field managers that wrote to a Service.
func managers(svc *corev1.Service) []string {
	var all []string
	for _, entry := range svc.ManagedFields {
		all = append(all, entry.Manager)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// url returns the address and number that a channel shows.
func (w *world) url(t *testing.T, channel string) string {
	t.Helper()
	svc := w.get(t, shop, channel)
	public, found := strings.CutPrefix(svc.Annotations[prefix+"/ports"], "http:80->")
	if !found || len(svc.Status.LoadBalancer.Ingress) != 1 {
		t.Fatalf("channel %s shows no number or address: ports %q, %v", channel, svc.Annotations[prefix+"/ports"],
			addresses(svc))
	}
	return fmt.Sprintf("http://%s", net.JoinHostPort(svc.Status.LoadBalancer.Ingress[0].IP, public))
}
