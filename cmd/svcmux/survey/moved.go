package survey

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// channelsOf returns the channels among Services, by namespace, without those that are being deleted.
func (o *Options) channelsOf(services []*corev1.Service) map[string][]*corev1.Service {
	channels := map[string][]*corev1.Service{}
	for _, svc := range services {
		if o.Lang.Classify(svc).Channel() && svc.DeletionTimestamp == nil {
			channels[svc.Namespace] = append(channels[svc.Namespace], svc)
		}
	}
	return channels
}

// moved says that a channel of the same namespace has the pods and ports of a Service, and what is left to do; "" if no
// channel has them. A channel whose ports aren't on the mux can't take the load balancer's place: moved then says why.
// If several channels have the pods, one that carries traffic counts.
func (o *Options) moved(svc *corev1.Service, channels []*corev1.Service) string {
	if len(svc.Spec.Selector) == 0 {
		return ""
	}
	said := ""
	for _, channel := range channels {
		if !maps.Equal(svc.Spec.Selector, channel.Spec.Selector) || !covers(channel, svc) {
			continue
		}
		hindered := o.hindrance(channel)
		if hindered == "" {
			return fmt.Sprintf("channel %s has its pods: set its type to ClusterIP once clients use the channel",
				cli.Shown(channel.Name))
		}
		why := fmt.Sprintf("channel %s has its pods, and %s", cli.Shown(channel.Name), hindered)
		said = cmp.Or(said, "keep this load balancer: "+why)
	}
	return said
}

// hindrance says why a channel carries no traffic yet, from its conditions; "" if it does. A channel without pods
// counts as carrying: the Service has no pods either.
func (o *Options) hindrance(channel *corev1.Service) string {
	keys, told := o.Lang.Keys(), channel.Status.Conditions
	because := func(what string, c *metav1.Condition) string {
		return fmt.Sprintf("%s (%s): %s", what, cli.Shown(c.Reason), cli.Sentence(c.Message))
	}
	accepted := meta.FindStatusCondition(told, keys.Accepted)
	if accepted != nil && accepted.Status != metav1.ConditionTrue {
		return because("is refused", accepted)
	}
	switch programmed := meta.FindStatusCondition(told, keys.Programmed); {
	case programmed == nil:
		return "no condition says that its ports are on the mux"
	case programmed.Status != metav1.ConditionTrue:
		return because("its ports aren't on the mux", programmed)
	}
	backed := meta.FindStatusCondition(told, keys.BackendsReady)
	if backed != nil && backed.Status == metav1.ConditionFalse && validation.Reason(backed.Reason) != plan.NoBackends {
		return because("they aren't on the mux", backed)
	}
	return ""
}

// covers says that a channel leads to every port of the pods to which the Service leads.
func covers(channel, svc *corev1.Service) bool {
	for _, port := range svc.Spec.Ports {
		if !slices.ContainsFunc(channel.Spec.Ports, func(other corev1.ServicePort) bool {
			return targetOf(other) == targetOf(port)
		}) {
			return false
		}
	}
	return true
}

// targetOf returns a port of the pods, with its protocol. Without a target, it is the port's own number.
func targetOf(port corev1.ServicePort) string {
	target := port.TargetPort.String()
	if target == "0" || target == "" {
		target = fmt.Sprint(port.Port)
	}
	return target + "/" + string(cmp.Or(port.Protocol, corev1.ProtocolTCP))
}
