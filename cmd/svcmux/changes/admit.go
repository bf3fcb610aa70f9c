package changes

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/forecast"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// denial returns why the API server or admission refuses a manifest; nil if they accept it.
func (p *prediction) denial(old, manifest, merged *corev1.Service) (*Denied, error) {
	name := merged.Namespace + "/" + merged.Name
	if merged.Name == "" {
		return &Denied{merged.Namespace + "/" + cmp.Or(merged.GenerateName, "?"), "NoName",
			"it has no metadata.name, which kubectl apply needs: name it"}, nil
	}
	if was, is := classOf(old), classOf(merged); isLoadBalancer(old) && isLoadBalancer(merged) && was != is {
		return &Denied{name, "ClassImmutable", "spec.loadBalancerClass is " + was + " and can't become " + is +
			": delete the Service, and create it again"}, nil
	}
	problems := p.problems[manifest]
	if len(problems) == 0 {
		problems = p.language.Review(old, merged).Denied
	}
	if len(problems) == 0 {
		var err error
		if problems, err = p.forbiddenNames(old, merged); err != nil {
			return nil, err
		}
	}
	if len(problems) == 0 {
		return nil, nil
	}
	return &Denied{name, string(problems[0].Reason), messagesOf(problems)}, nil
}

// forbiddenNames returns the DNS names that external-dns would take from a channel, and that its mux doesn't allow. The
// webhook denies them because the reconciler can't keep them out.
func (p *prediction) forbiddenNames(old, merged *corev1.Service) ([]validation.Problem, error) {
	if p.language.Classify(merged) != validation.IsChannel {
		return nil, nil
	}
	after := plan.ReadChannel(p.language, merged)
	if len(after.Direct) == 0 {
		return nil, nil
	}
	var before *plan.ObservedChannel
	if old != nil && p.language.Classify(old) == validation.IsChannel {
		channel := plan.ReadChannel(p.language, old)
		before = &channel
	}
	seen, err := p.after.Index().Sight(after.Mux, p.after.Now)
	if err != nil {
		return nil, err
	}
	predictions := forecast.Survey(seen.World).Channel(before, after, false)
	predictions = slices.DeleteFunc(predictions, func(p forecast.Prediction) bool {
		return !p.Proven || p.Reason != plan.HostnameNotAllowed
	})
	problems := make([]validation.Problem, 0, len(predictions))
	for i := range predictions {
		problems = append(problems, predictions[i].Problem)
	}
	return problems, nil
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
