package ledger

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// Object returns a ConfigMap without its contents, as a cache holds it.
func Object() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return object
}

// longestKey is how long the namespace and the name of a mux may be together. A Gateway has its kind before its name.
const longestKey = 63 + len("/gateway/") + 63

// Trim drops all fields of a cached ConfigMap that nobody reads, so that each takes the same little memory.
func Trim(object *metav1.PartialObjectMetadata, keys validation.Keys) {
	kept := metav1.ObjectMeta{
		Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
	}
	if mux := object.Annotations[keys.Mux]; mux != "" && len(mux) <= longestKey {
		kept.Annotations = map[string]string{keys.Mux: mux}
	}
	object.ObjectMeta = kept
}
