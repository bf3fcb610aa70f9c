package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ParseClass parses a spec.loadBalancerClass, <prefix>/<mux>[.<namespace>]. It returns false if the class isn't one of
// ours or is malformed.
func (l Language) ParseClass(class string) (types.NamespacedName, bool) {
	if l.prefix == "" || !l.ownsClass(class) || len(class) == len(l.prefix) {
		return types.NamespacedName{}, false
	}
	name, namespace, both := strings.Cut(class[len(l.prefix)+1:], ".")
	if !both {
		namespace = l.namespace
	}
	if !IsLabel(name) || !IsLabel(namespace) {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, true
}

// FormatClass returns the class that names a mux and its namespace. Kubernetes refuses a class with more than 63
// characters after the slash.
func (l Language) FormatClass(mux types.NamespacedName) string {
	return l.prefix + "/" + mux.Name + "." + mux.Namespace
}

// isAddressable says that a class can name the mux: Kubernetes limits a class to 63 characters after the slash.
func isAddressable(mux types.NamespacedName, defaultNamespace string) bool {
	return mux.Namespace == defaultNamespace || len(mux.Name)+1+len(mux.Namespace) <= maxClass
}

func (l Language) muxOf(svc *corev1.Service, found *Findings) types.NamespacedName {
	class := ""
	if svc.Spec.LoadBalancerClass != nil {
		class = *svc.Spec.LoadBalancerClass
	}
	ref, ok := l.ParseClass(class)
	if !ok {
		found.problem(InvalidLoadBalancerClass, "spec.loadBalancerClass", "", class, textClass(class, l.prefix))
	}
	return ref
}
