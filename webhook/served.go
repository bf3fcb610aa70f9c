package webhook

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// served are the namespaces in which the release looks after muxes; all if empty. A mux elsewhere is accepted, because another
// release may look after it, and warned of.
type served []string

// warnings are about a Service whose mux is in another namespace.
func (s served) warnings(lang validation.Language, svc *corev1.Service) []string {
	if len(s) == 0 {
		return nil
	}
	const way = "unless another release looks after it. Add namespace %s to rbac.muxNamespaces of the chart, or %s (%s)"
	var said []string
	kind, here := lang.Classify(svc), strings.Join(s, ", ")
	if kind.Mux() && !slices.Contains(s, svc.Namespace) {
		said = append(said, fmt.Sprintf("nothing will happen to this mux "+way, svc.Namespace, "make it where muxes are looked after", here))
	}
	if kind.Channel() {
		class := ""
		if svc.Spec.LoadBalancerClass != nil {
			class = *svc.Spec.LoadBalancerClass
		}
		if mux, ok := lang.ParseClass(class); ok && !slices.Contains(s, mux.Namespace) {
			said = append(said, fmt.Sprintf("it will get no port of the mux %s, "+way, mux, mux.Namespace,
				"name a mux where muxes are looked after", here))
		}
	}
	return said
}
