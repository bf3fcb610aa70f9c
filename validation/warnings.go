package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// providerKeys is the prefix of annotations for cloud providers. A channel has no load balancer of its own, so they
// have no effect on it.
const providerKeys = "service.beta.kubernetes.io/"

// warnChannel warns of fields that no mux honours, or only a mux on gateways.
func warnChannel(svc *corev1.Service, found *Findings) {
	spec := &svc.Spec
	const onTheMux, nowhere = "set it on the mux", "take it away"
	onGatewaysOnly := func(part, value, wayOut string) { // whether the mux is on gateways isn't known here
		found.warn(FieldNotHonoured, part, "", value, textOnGatewaysOnly(part, value, wayOut))
	}
	if spec.LoadBalancerIP != "" {
		const part = "spec.loadBalancerIP"
		found.warn(FieldNotHonoured, part, "", spec.LoadBalancerIP, textNotHonoured(part, spec.LoadBalancerIP, onTheMux))
	}
	if spec.SessionAffinity != "" && spec.SessionAffinity != corev1.ServiceAffinityNone {
		onGatewaysOnly("spec.sessionAffinity", string(spec.SessionAffinity), onTheMux)
	}
	if spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		onGatewaysOnly("spec.externalTrafficPolicy", string(spec.ExternalTrafficPolicy), nowhere)
	}
	if spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts {
		const part = "spec.allocateLoadBalancerNodePorts"
		found.warn(NodePortsUnused, part, "", "", textNodePorts())
	}
	if len(spec.ExternalIPs) > 0 {
		value := strings.Join(spec.ExternalIPs[:min(len(spec.ExternalIPs), maxProblems)], ",")
		found.warn(ExternalIPsBypassMux, "spec.externalIPs", "", value, textExternalIPs(value))
	}
	for _, key := range keysThat(svc.Annotations, isProviderKey) {
		value := svc.Annotations[key]
		found.warn(FieldNotHonoured, annotationField(key), "", value, textNotHonoured(key, value, onTheMux))
	}
}

func isProviderKey(key string) bool {
	return strings.HasPrefix(key, providerKeys) && key != corev1.AnnotationLoadBalancerSourceRangesKey
}

// keysThat returns the first maxProblems keys, sorted, for which matter is true.
func keysThat(all map[string]string, matter func(key string) bool) []string {
	var keys []string
	for key := range all {
		if matter(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys[:min(len(keys), maxProblems)]
}

// warnAnnotations warns of annotations under our prefix that have no effect here, since a typo in a name would
// otherwise go unnoticed.
func (l Language) warnAnnotations(svc *corev1.Service, what Kind, found *Findings) {
	here, other := onMux, IsChannel
	if what == IsChannel {
		here, other = onChannel, IsMux
	}
	if l.Classify(svc) == Both {
		here = anywhere // it is refused in any case, so don't guess which kind is meant
	}
	useless := keysThat(svc.Annotations, func(key string) bool {
		name, ours := l.ownName(key)
		return ours && l.names[name].at&here == 0
	})
	for _, key := range useless {
		name, _ := l.ownName(key)
		if l.names[name].at == 0 {
			found.warn(UnknownAnnotation, annotationField(key), "", svc.Annotations[key], textUnknownAnnotation(name))
			continue
		}
		found.warn(MisplacedAnnotation, annotationField(key), "", svc.Annotations[key],
			textMisplaced(name, what, other))
	}
}

// ownName returns a key without our prefix, and whether it has that prefix.
func (l Language) ownName(key string) (string, bool) {
	if n := len(l.prefix); len(key) > n && key[n] == '/' && key[:n] == l.prefix {
		return key[n+1:], true
	}
	return "", false
}
