package read

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// labelGateway is the label of objects that belong to a Gateway, as the specification names it.
const labelGateway = "gateway.networking.k8s.io/gateway-name"

func labelValue(name string) string { return name[:min(len(name), maxServiceName)] }

func ownedBy(gateway *gatewayv1.Gateway) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway", Name: gateway.Name,
		UID: gateway.UID, Controller: ptr.To(true)}}
}

// request writes the address that a Gateway asks for into its mux.
func request(l validation.Language, gateway *gatewayv1.Gateway, svc *corev1.Service) *Refusal {
	keys := l.Keys()
	for i, address := range gateway.Spec.Addresses {
		if i > 0 || ptr.Deref(address.Type, gatewayv1.IPAddressType) != gatewayv1.IPAddressType {
			return &Refusal{string(gatewayv1.GatewayReasonUnsupportedAddress),
				"spec.addresses: ask for one address of type IPAddress, or for none"}
		}
		if address.Value == "" {
			continue
		}
		if _, pool := l.GatewayPool(ptr.Deref(svc.Spec.LoadBalancerClass, "")); pool {
			svc.Annotations[keys.Address] = address.Value
		} else {
			svc.Spec.LoadBalancerIP = address.Value
		}
	}
	return nil
}

// OtherAddress returns why a Gateway can't get the address that it asks for: its mux was made with another one, and of
// a Service's spec, the reconciler writes only ports. It returns nil for a mux on a pool of gateways, which has the
// address in an annotation.
func OtherAddress(l validation.Language, gateway *gatewayv1.Gateway, mux *corev1.Service) *Refusal {
	_, onPool := l.GatewayPool(ptr.Deref(mux.Spec.LoadBalancerClass, ""))
	for _, address := range gateway.Spec.Addresses {
		if asked, has := address.Value, mux.Spec.LoadBalancerIP; !onPool && asked != "" && asked != has {
			return &Refusal{string(gatewayv1.GatewayReasonUnsupportedAddress), fmt.Sprintf("spec.addresses: Service %s is "+
				"there, with loadBalancerIP %q, which can't be changed to %s: take spec.addresses back, or delete the Service, "+
				"and it is made again with that address", keyOf(mux), has, asked)}
		}
	}
	return nil
}

// allowedNamespaces returns the namespaces whose Services may attach to a Gateway's mux: every namespace if the Gateway
// admits ListenerSets of every namespace, and otherwise its own.
func allowedNamespaces(gateway *gatewayv1.Gateway) string {
	if allowed := gateway.Spec.AllowedListeners; allowed != nil && allowed.Namespaces != nil &&
		ptr.Deref(allowed.Namespaces.From, "") == gatewayv1.NamespacesFromAll {
		return "*"
	}
	return "Same"
}

// IsMuxOf is true for a Service that was made as a Gateway's mux.
func IsMuxOf(keys *validation.Keys, svc *corev1.Service, gateway *gatewayv1.Gateway) bool {
	owner := metav1.GetControllerOf(svc)
	return svc.Labels[keys.Managed] == "true" && owner != nil && owner.UID == gateway.UID
}
