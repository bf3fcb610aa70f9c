package main

import (
	"fmt"
	"strings"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Argo CD notes on each object which application it is of, and which object it is: a copy of the note on another object,
// as controllers make that copy annotations, is no sign of ownership.
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

// populate keeps in the cache what comparisons need: an object whole, if it is the application's.
func populate(object *unstructured.Unstructured, _ bool) (info any, keepWhole bool) {
	id := object.GetAnnotations()[tracking]
	return id, strings.HasPrefix(id, application+":")
}

// managed is true for what an application has in the cluster, and would prune if no manifest named it any more.
func managed(r *cache.Resource) bool {
	key := r.ResourceKey()
	return len(r.OwnerRefs) == 0 &&
		r.Info == fmt.Sprintf("%s:%s/%s:%s/%s", application, key.Group, key.Kind, key.Namespace, key.Name)
}
