package follow

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// patience is for one list: an API server that doesn't answer mustn't be waited for longer than a fault may go
	// untold.
	patience = 5 * time.Second
	// lifetime of one watch, in seconds: a connection that died silently is noticed after it at the latest.
	lifetime = 300
	// between two lists after a failure, and at least between any two.
	between = 2 * time.Second
)

// News is what is known of the object. Without an object and an error, it isn't there.
type News struct {
	Object client.Object
	Err    error
}

// Object hands over the news of one object until the context ends: all that the API server tells of it, in order, and
// each failure to ask. List is an empty list of the object's kind.
func Object(ctx context.Context, c client.WithWatch, list client.ObjectList, key types.NamespacedName, tell func(News)) {
	for ctx.Err() == nil {
		if err := once(ctx, c, list, key, tell); err != nil && ctx.Err() == nil {
			tell(News{Err: err})
		}
		select {
		case <-ctx.Done():
		case <-time.After(between):
		}
	}
}

func once(ctx context.Context, c client.WithWatch, kind client.ObjectList, key types.NamespacedName, tell func(News)) error {
	list, ok := kind.DeepCopyObject().(client.ObjectList)
	if !ok {
		return fmt.Errorf("%T is no list", kind)
	}
	these := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingFields{metav1.ObjectNameField: key.Name}}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.List(within, list, these...); err != nil {
		return err
	}
	now := News{}
	if err := meta.EachListItem(list, func(item runtime.Object) error {
		now.Object, _ = item.(client.Object)
		return nil
	}); err != nil {
		return err
	}
	tell(now)

	changes, err := c.Watch(ctx, list, append(these, &client.ListOptions{Raw: &metav1.ListOptions{
		ResourceVersion: list.GetResourceVersion(), TimeoutSeconds: ptr.To[int64](lifetime),
	}})...)
	if err != nil {
		return err
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		if err := pass(change, tell); err != nil {
			return err
		}
	}
	return nil
}

func pass(change watch.Event, tell func(News)) error {
	switch change.Type {
	case watch.Added, watch.Modified:
		object, _ := change.Object.(client.Object)
		tell(News{Object: object})
	case watch.Deleted:
		tell(News{})
	case watch.Error:
		if err := apierrors.FromObject(change.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return err
		}
	case watch.Bookmark: // never asked for
	}
	return nil
}
