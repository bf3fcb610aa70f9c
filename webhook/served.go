package webhook

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// served are the namespaces in which the release manages muxes; all if empty. A mux in another namespace is allowed
// with a warning, because another release may manage it.
type served []string

// elsewhere is the end of each warning here. It says how to correct the Service or the release.
const elsewhere = "unless another release manages it. Add namespace %s to rbac.muxNamespaces of the chart, or %s (%s)"

// warnings returns the warnings for a Service whose mux is in a namespace that this release doesn't serve.
func (s served) warnings(lang validation.Language, svc *corev1.Service) []string {
	if len(s) == 0 {
		return nil
	}
	var texts []string
	kind, here := lang.Classify(svc), strings.Join(s, ", ")
	if kind.Mux() && !slices.Contains(s, svc.Namespace) {
		texts = append(texts, fmt.Sprintf("nothing will happen to this mux "+elsewhere, svc.Namespace,
			"create it in a namespace where muxes are managed", here))
	}
	if kind.Channel() {
		class := ""
		if svc.Spec.LoadBalancerClass != nil {
			class = *svc.Spec.LoadBalancerClass
		}
		if mux, ok := lang.ParseClass(class); ok && !slices.Contains(s, mux.Namespace) {
			texts = append(texts, fmt.Sprintf("it will get no port of the mux %s, "+elsewhere, mux, mux.Namespace,
				"name a mux in a namespace where muxes are managed", here))
		}
	}
	return texts
}

// routeWarnings returns the warnings for a route whose Gateway is in a namespace that this release doesn't serve.
func (s served) routeWarnings(gateway types.NamespacedName) []string {
	if len(s) == 0 || slices.Contains(s, gateway.Namespace) {
		return nil
	}
	return []string{fmt.Sprintf("it will get no number on the Gateway %s, "+elsewhere, gateway, gateway.Namespace,
		"name a Gateway in a namespace where numbers are given", strings.Join(s, ", "))}
}
