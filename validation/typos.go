package validation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Typos warns of prefixes that are nearly ours. It is for files before they reach a cluster: there, a Service under
// another prefix is somebody else's, and admission never sees it.
func (l Language) Typos(svc *corev1.Service) []Problem {
	var found Findings
	for _, key := range slices.Sorted(maps.Keys(svc.Annotations)) {
		prefix, name, _ := strings.Cut(key, "/")
		if placeOf(name) != 0 && l.isNearly(prefix) && len(found.Warnings) < maxProblems {
			found.warn(LikelyTypo, annotationField(key), "", key, textPrefix(key, l.prefix+"/"+name))
		}
	}
	if svc.Spec.LoadBalancerClass != nil {
		class := *svc.Spec.LoadBalancerClass
		if prefix, name, _ := strings.Cut(class, "/"); l.isNearly(prefix) {
			const part = "spec.loadBalancerClass"
			found.warn(LikelyTypo, part, "", class, part+": "+textPrefix(class, l.prefix+"/"+name))
		}
	}
	found.sort()
	return found.Warnings
}

// isNearly is true for the prefix with a slip or two in it, or with capitals.
func (l Language) isNearly(prefix string) bool {
	return prefix != l.prefix && nearest(lower(prefix), []string{l.prefix}) != ""
}
