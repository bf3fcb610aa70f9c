package validation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// kopfPrefix begins the annotations that the original's framework keeps its memory in.
const kopfPrefix = "kopf.zalando.org/"

// Leftovers are what the original left on a Service.
type Leftovers struct {
	Annotations []string // keys, sorted
	// Finalizer is the original's, if it is there.
	Finalizer string
}

// Empty is true if nothing is left.
func (o Leftovers) Empty() bool { return len(o.Annotations) == 0 && o.Finalizer == "" }

// Leftovers returns what the original left on a Service.
func (l Language) Leftovers(svc *corev1.Service) Leftovers {
	var left Leftovers
	for key := range maps.Keys(svc.Annotations) {
		if strings.HasPrefix(key, kopfPrefix) {
			left.Annotations = append(left.Annotations, key)
		}
	}
	slices.Sort(left.Annotations)
	if slices.Contains(svc.Finalizers, l.keys.Finalizer) {
		left.Finalizer = l.keys.Finalizer
	}
	return left
}
