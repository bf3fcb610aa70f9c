package read

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// muxPrefix stands before the name of a Gateway that is a mux.
const muxPrefix = "gateway/"

// MuxKey names a Gateway among muxes.
func MuxKey(gateway types.NamespacedName) types.NamespacedName {
	if gateway.Name == "" {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: gateway.Namespace, Name: muxPrefix + gateway.Name}
}

// GatewayOf returns the Gateway that a mux's name stands for; false for a Service.
func GatewayOf(mux types.NamespacedName) (types.NamespacedName, bool) {
	name, is := strings.CutPrefix(mux.Name, muxPrefix)
	return types.NamespacedName{Namespace: mux.Namespace, Name: name}, is
}

// Listening is a number in use on a Gateway, and the name of its user.
type Listening struct {
	// Name is the claim's name if the allocator published the number; otherwise it names the listener in words.
	Name string
	Slot plan.Slot
}

// Asks is true for a Gateway with the annotation port-range: its owner lets routes get numbers on it.
func Asks(l validation.Language, gateway *gatewayv1.Gateway) bool {
	_, asks := gateway.Annotations[l.Keys().PortRange]
	return asks
}

// Mux reads a Gateway as a mux. Listening are the numbers in use, those of the allocator first: a later entry with the
// same number is left out. Members are the labels of the namespaces that have routes for this Gateway.
func Mux(l validation.Language, gateway *gatewayv1.Gateway, listening []Listening,
	members map[string]labels.Set) *plan.ObservedMux {
	keys := l.Keys()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: gateway.Namespace, Name: gateway.Name, UID: gateway.UID, ResourceVersion: gateway.ResourceVersion,
		CreationTimestamp: gateway.CreationTimestamp, DeletionTimestamp: gateway.DeletionTimestamp,
		Annotations: map[string]string{},
	}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	maps.Copy(svc.Annotations, gateway.Annotations)
	for _, ours := range [...]string{keys.Ledger, keys.AllowedNamespaces} { // they have no meaning on a Gateway
		delete(svc.Annotations, ours)
	}
	svc.Annotations[keys.Multiplexer] = "true"
	if _, set := svc.Annotations[keys.AllocationConfigMap]; !set {
		// the ledger of the Gateway's mux is another one
		svc.Annotations[keys.AllocationConfigMap] = "gateway-" + gateway.Name + "-route-allocations"
	}
	taken := map[plan.Slot]bool{}
	for _, on := range listening {
		if !taken[on.Slot] {
			taken[on.Slot] = true
			svc.Spec.Ports = append(svc.Spec.Ports,
				corev1.ServicePort{Name: on.Name, Port: on.Slot.Number, Protocol: on.Slot.Protocol})
		}
	}
	if len(svc.Spec.Ports) == 0 { // otherwise package plan would ask for a placeholder, since a Service needs a port
		svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: validation.PlaceholderPort,
			Protocol: corev1.ProtocolTCP}}
	}
	for i := range gateway.Status.Addresses {
		svc.Status.LoadBalancer.Ingress = append(svc.Status.LoadBalancer.Ingress,
			corev1.LoadBalancerIngress{Hostname: gateway.Status.Addresses[i].Value})
	}
	mux := plan.ReadMux(l, svc, false)
	mux.Key = MuxKey(mux.Key)
	mux.Namespaces = validation.NamespacesNamed(admitted(gateway, members)...)
	return mux
}

// admitted returns the namespaces among members whose ListenerSets may attach to a Gateway.
func admitted(gateway *gatewayv1.Gateway, members map[string]labels.Set) []string {
	var names []string
	for namespace, set := range members {
		if admits(gateway, namespace, set) {
			names = append(names, namespace)
		}
	}
	return names
}

// admits is true if ListenerSets of a namespace may attach to a Gateway. By default none may.
func admits(gateway *gatewayv1.Gateway, namespace string, set labels.Set) bool {
	allowed := gateway.Spec.AllowedListeners
	if allowed == nil || allowed.Namespaces == nil || allowed.Namespaces.From == nil {
		return false
	}
	switch *allowed.Namespaces.From {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return namespace == gateway.Namespace
	case gatewayv1.NamespacesFromSelector:
		selector, err := metav1.LabelSelectorAsSelector(allowed.Namespaces.Selector)
		return err == nil && selector.Matches(set)
	}
	return false
}

// ListenersOf returns the numbers of a Gateway's own listeners.
func ListenersOf(gateway *gatewayv1.Gateway) []Listening {
	var all []Listening
	for i := range gateway.Spec.Listeners {
		l := &gateway.Spec.Listeners[i]
		all = append(all, Listening{"listener " + string(l.Name),
			plan.Slot{Number: l.Port, Protocol: transportOf(l.Protocol)}})
	}
	return all
}

// transportOf returns the protocol that packets of a listener have. All but UDP run over TCP.
func transportOf(protocol gatewayv1.ProtocolType) corev1.Protocol {
	if protocol == gatewayv1.UDPProtocolType {
		return corev1.ProtocolUDP
	}
	return corev1.ProtocolTCP
}
