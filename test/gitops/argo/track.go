package main

import (
	"fmt"
	"strings"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Argo CD annotates each object with its application and with the object's own name. If a controller copies the
// annotation to another object, the name doesn't match, so the copy isn't a sign of ownership.
const (
	application = "apps"
	tracking    = "argocd.argoproj.io/tracking-id"
)

func track(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, object := range objects {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[tracking] = trackingID(object)
		object.SetAnnotations(annotations)
	}
	return objects
}

func trackingID(object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind()
	return fmt.Sprintf("%s:%s/%s:%s/%s", application, kind.Group, kind.Kind, object.GetNamespace(), object.GetName())
}

// populate caches what comparisons need: the whole object, if it belongs to the application.
func populate(object *unstructured.Unstructured, _ bool) (info any, keepWhole bool) {
	id := object.GetAnnotations()[tracking]
	return id, strings.HasPrefix(id, application+":")
}

// managed returns whether an object belongs to the application. Argo CD prunes it once no manifest names it.
func managed(r *cache.Resource) bool {
	key := r.ResourceKey()
	return len(r.OwnerRefs) == 0 &&
		r.Info == fmt.Sprintf("%s:%s/%s:%s/%s", application, key.Group, key.Kind, key.Namespace, key.Name)
}
