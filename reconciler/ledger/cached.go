package ledger

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// Object is a ConfigMap without its contents, as a cache is asked for it.
func Object() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return object
}

func objects() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	return list
}

// longestKey is how long the name of a mux and its namespace may be.
const longestKey = 63 + len("/") + 63

// Trim takes off such an object what isn't read of it: whatever somebody writes into ConfigMaps, each costs the same.
func Trim(object *metav1.PartialObjectMetadata, keys validation.Keys) {
	labels := map[string]string{}
	for _, label := range []string{nameLabel, componentLabel} {
		if value, set := object.Labels[label]; set {
			labels[label] = value
		}
	}
	annotations := map[string]string{}
	if mux := object.Annotations[keys.Mux]; mux != "" && len(mux) <= longestKey {
		annotations[keys.Mux] = mux
		if generation, ok := validation.ParseGeneration(object.Annotations[keys.Generation]); ok {
			annotations[keys.Generation] = validation.FormatGeneration(generation)
		}
	}
	object.ObjectMeta = metav1.ObjectMeta{
		Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
		Labels: labels, Annotations: annotations,
	}
}
