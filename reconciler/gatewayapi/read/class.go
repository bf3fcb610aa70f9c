package read

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// ControllerName is the name under which we serve GatewayClasses.
func ControllerName(keys *validation.Keys) gatewayv1.GatewayController {
	prefix, _, _ := strings.Cut(keys.Ports, "/")
	return gatewayv1.GatewayController(prefix + "/gateway")
}

// Template has the parts of a Service from which the muxes of a GatewayClass are made.
type Template struct {
	Labels, Annotations map[string]string
	Spec                corev1.ServiceSpec
}

// maxServiceName is the longest name of a Service.
const maxServiceName = 63

// MuxOf names the Service that is a Gateway's mux.
func MuxOf(gateway types.NamespacedName) types.NamespacedName {
	name := strings.ReplaceAll("gateway-"+gateway.Name, ".", "-")
	if name != "gateway-"+gateway.Name || len(name) > maxServiceName {
		sum := sha256.Sum256([]byte(gateway.Name))
		name = strings.TrimRight(name[:min(len(name), maxServiceName-9)], "-") + "-" + hex.EncodeToString(sum[:4])
	}
	return types.NamespacedName{Namespace: gateway.Namespace, Name: name}
}

// MuxService is the Service that is a Gateway's mux, as it is created. The reconciler writes its ports.
func MuxService(l validation.Language, gateway *gatewayv1.Gateway, template *Template) (*corev1.Service, *Refusal) {
	keys := l.Keys()
	key := MuxOf(keyOf(gateway))
	svc := &corev1.Service{Spec: *template.Spec.DeepCopy()}
	svc.Namespace, svc.Name = key.Namespace, key.Name
	svc.Labels, svc.Annotations = map[string]string{}, map[string]string{}
	maps.Copy(svc.Labels, template.Labels)
	maps.Copy(svc.Annotations, template.Annotations)
	if infrastructure := gateway.Spec.Infrastructure; infrastructure != nil {
		for name, value := range infrastructure.Labels {
			svc.Labels[string(name)] = string(value)
		}
		for name, value := range infrastructure.Annotations {
			svc.Annotations[string(name)] = string(value)
		}
		if infrastructure.ParametersRef != nil {
			return nil, &Refusal{string(gatewayv1.GatewayReasonInvalidParameters),
				"spec.infrastructure.parametersRef isn't supported: use that of the GatewayClass"}
		}
	}
	svc.Labels[keys.Managed], svc.Labels[labelGateway] = "true", labelValue(gateway.Name)
	svc.Annotations[keys.Multiplexer] = "true"
	svc.Annotations[keys.AllowedNamespaces] = allowedNamespaces(gateway)
	svc.OwnerReferences = ownedBy(gateway)
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	if svc.Spec.AllocateLoadBalancerNodePorts == nil {
		svc.Spec.AllocateLoadBalancerNodePorts = ptr.To(false)
	}
	svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: validation.PlaceholderPort,
		Protocol: corev1.ProtocolTCP}}
	return svc, request(l, gateway, svc)
}
