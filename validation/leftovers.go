package validation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// kopfPrefix is the prefix of the annotations in which the original's framework stores its state.
const kopfPrefix = "kopf.zalando.org/"

// Leftovers are annotations and the finalizer that the original left on a Service.
type Leftovers struct {
	Annotations []string // keys, sorted
	// Finalizer is the original's finalizer, or empty.
	Finalizer string
}

// Empty says that the original left nothing.
func (o Leftovers) Empty() bool { return len(o.Annotations) == 0 && o.Finalizer == "" }

// Leftovers returns the annotations and the finalizer that the original left on a Service.
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
