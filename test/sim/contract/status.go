package contract

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// checkService compares our annotation, conditions and address on a Service with its mux and the ledger.
func (w *World) checkService(key types.NamespacedName, served map[types.NamespacedName]*mux) string {
	svc, keys := w.Services[key], w.Language.Keys()
	conditions := w.conditions(svc)
	named, is := w.muxOf(svc)
	if !is {
		if len(conditions) > 0 || svc.Annotations[keys.Ports] != "" {
			return "status: it isn't a channel, and has our conditions or annotation"
		}
		return ""
	}
	var address []corev1.LoadBalancerIngress
	m, c := served[named], &channel{service: svc}
	if m != nil {
		c = m.channels[key]
	}
	on := len(c.claims) > 0 && !c.Disabled
	if on {
		address = m.service.Status.LoadBalancer.Ingress
	}
	accepted := m != nil && c.valid && on && len(m.lacking(c)) == 0
	switch broken := cmp.Or(checkAddress(svc, address), c.checkNote(svc.Annotations[keys.Ports])); {
	case broken != "":
		return broken
	case c.service.DeletionTimestamp != nil:
		return ""
	case conditions[keys.Accepted] != statusOf(accepted):
		return fmt.Sprintf("conditions: Accepted is %q, and it has all that it asks for: %t", conditions[keys.Accepted],
			accepted)
	case conditions[keys.Programmed] != statusOf(len(address) > 0):
		return fmt.Sprintf("conditions: Programmed is %q, and it has ports on a mux with an address: %t",
			conditions[keys.Programmed], len(address) > 0)
	case conditions[keys.BackendsReady] != "" && !on:
		return "conditions: BackendsReady is set, and it has no ports"
	case on && conditions[keys.BackendsReady] != statusOf(w.hasReady(named, key)):
		return fmt.Sprintf("conditions: BackendsReady is %q, and slices on the mux have a ready endpoint: %t",
			conditions[keys.BackendsReady], w.hasReady(named, key))
	}
	return ""
}

func statusOf(is bool) metav1.ConditionStatus {
	if is {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// conditions returns our conditions of a Service.
func (w *World) conditions(svc *corev1.Service) map[string]metav1.ConditionStatus {
	keys, conditions := w.Language.Keys(), map[string]metav1.ConditionStatus{}
	for _, condition := range svc.Status.Conditions {
		if slices.Contains(keys.Conditions(), condition.Type) {
			conditions[condition.Type] = condition.Status
		}
	}
	return conditions
}

// checkAddress requires the mux's addresses on the channel: every IP in mode Proxy, and no ports.
func checkAddress(svc *corev1.Service, address []corev1.LoadBalancerIngress) string {
	want, shows := map[string]bool{}, map[string]bool{}
	for _, ingress := range address {
		mode := ""
		if ingress.IP != "" {
			mode = string(corev1.LoadBalancerIPModeProxy)
		}
		want[fmt.Sprintf("%s%s mode %q", ingress.IP, ingress.Hostname, mode)] = true
	}
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		mode := ""
		if ingress.IPMode != nil {
			mode = string(*ingress.IPMode)
		}
		if len(ingress.Ports) > 0 {
			return fmt.Sprintf("address: it shows %s%s with ports", ingress.IP, ingress.Hostname)
		}
		shows[fmt.Sprintf("%s%s mode %q", ingress.IP, ingress.Hostname, mode)] = true
	}
	if !maps.Equal(want, shows) {
		return fmt.Sprintf("address: it shows %v, and must show %v", slices.Sorted(maps.Keys(shows)),
			slices.Sorted(maps.Keys(want)))
	}
	return ""
}

// checkNote compares the `ports` annotation with the claims.
func (c *channel) checkNote(note string) string {
	says, fine := validation.ParsePorts(note)
	if !fine {
		return fmt.Sprintf("note: %q can't be read", note)
	}
	var want []validation.PortMapping
	for i := range c.Ports {
		if has := c.claimOf(&c.Ports[i]); has != nil {
			want = append(want, validation.PortMapping{Name: c.Ports[i].Name, Port: c.Ports[i].Port, Public: has.slot.number})
		}
	}
	if !slices.Equal(says, want) {
		return fmt.Sprintf("note: it says %q, and its claims are %q", note, validation.FormatPorts(want))
	}
	return ""
}
