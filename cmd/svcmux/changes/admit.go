package changes

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// denial returns why the API server or admission refuses a Service; nil if they accept it.
func (p *prediction) denial(old, merged *corev1.Service) *Denied {
	name := merged.Namespace + "/" + merged.Name
	if merged.Name == "" {
		return &Denied{merged.Namespace + "/" + cmp.Or(merged.GenerateName, "?"), "NoName", "it has no metadata.name, which kubectl apply needs: name it"}
	}
	if was, is := classOf(old), classOf(merged); isLoadBalancer(old) && isLoadBalancer(merged) && was != is {
		return &Denied{name, "ClassImmutable", "spec.loadBalancerClass is " + was + " and can't become " + is + ": delete the Service, and create it again"}
	}
	verdict := p.language.Review(old, merged)
	if len(verdict.Denied) == 0 {
		return nil
	}
	return &Denied{name, string(verdict.Denied[0].Reason), messagesOf(verdict.Denied)}
}

func isLoadBalancer(svc *corev1.Service) bool {
	return svc != nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer
}

func classOf(svc *corev1.Service) string {
	if svc == nil || svc.Spec.LoadBalancerClass == nil {
		return "none"
	}
	return *svc.Spec.LoadBalancerClass
}
