package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// providerKeys begin the annotations by which cloud providers are told about a load balancer; a channel has none.
const providerKeys = "service.beta.kubernetes.io/"

// warnChannel names the fields that a mux can't honour.
func warnChannel(svc *corev1.Service, found *Findings) {
	spec := &svc.Spec
	const onTheMux, nowhere = "set it on the mux", "take it away"
	ignored := func(part, value, wayOut string) {
		found.warn(FieldNotHonoured, part, "", value, textNotHonoured(part, value, wayOut))
	}
	if spec.LoadBalancerIP != "" {
		ignored("spec.loadBalancerIP", spec.LoadBalancerIP, onTheMux)
	}
	if spec.SessionAffinity != "" && spec.SessionAffinity != corev1.ServiceAffinityNone {
		ignored("spec.sessionAffinity", string(spec.SessionAffinity), onTheMux)
	}
	if spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		ignored("spec.externalTrafficPolicy", string(spec.ExternalTrafficPolicy), nowhere)
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

// keysThat returns the first few keys of annotations or labels, in order, that there is something to say about.
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

// warnAnnotations names annotations under our prefix that do nothing here: a slip in a name is otherwise silent.
func (l Language) warnAnnotations(svc *corev1.Service, what Kind, found *Findings) {
	here, other := onMux, IsChannel
	if what == IsChannel {
		here, other = onChannel, IsMux
	}
	if l.Classify(svc) == Both {
		here = anywhere // whichever is meant, it is refused: don't guess
	}
	useless := keysThat(svc.Annotations, func(key string) bool {
		name, ours := l.ownName(key)
		return ours && placeOf(name)&here == 0
	})
	for _, key := range useless {
		name, _ := l.ownName(key)
		if placeOf(name) == 0 {
			found.warn(UnknownAnnotation, annotationField(key), "", svc.Annotations[key], textUnknownAnnotation(name))
			continue
		}
		found.warn(MisplacedAnnotation, annotationField(key), "", svc.Annotations[key],
			textMisplaced(name, what, other))
	}
}

// ownName returns what follows our prefix in a key, if it is one of ours.
func (l Language) ownName(key string) (string, bool) {
	if n := len(l.prefix); len(key) > n && key[n] == '/' && key[:n] == l.prefix {
		return key[n+1:], true
	}
	return "", false
}
