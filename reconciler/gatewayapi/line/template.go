package line

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

// templateKey is the key of a ConfigMap that has the template of a GatewayClass's muxes.
const templateKey = "service"

// parseTemplate parses the template of a GatewayClass: a part of a Service in YAML.
func parseTemplate(cm *corev1.ConfigMap) (read.Template, error) {
	text, has := cm.Data[templateKey]
	if !has {
		return read.Template{}, fmt.Errorf("ConfigMap %s/%s has no key %q: put a part of a Service there, with "+
			"metadata.annotations and spec.loadBalancerClass", cm.Namespace, cm.Name, templateKey)
	}
	var svc corev1.Service
	if err := yaml.UnmarshalStrict([]byte(text), &svc); err != nil {
		return read.Template{}, fmt.Errorf("ConfigMap %s/%s, key %q, is no part of a Service: %w", cm.Namespace, cm.Name,
			templateKey, err)
	}
	for field, set := range map[string]bool{
		"metadata.name": svc.Name != "", "metadata.namespace": svc.Namespace != "", "spec.ports": len(svc.Spec.Ports) > 0,
		"spec.selector": len(svc.Spec.Selector) > 0, "spec.type": svc.Spec.Type != "" &&
			svc.Spec.Type != corev1.ServiceTypeLoadBalancer,
	} {
		if set {
			return read.Template{}, fmt.Errorf("ConfigMap %s/%s, key %q: %s can't be set: it follows from the Gateway",
				cm.Namespace, cm.Name, templateKey, field)
		}
	}
	return read.Template{Labels: svc.Labels, Annotations: svc.Annotations, Spec: svc.Spec}, nil
}
