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
	// listTimeout limits one list request. If the API server doesn't answer in time, Object reports an error.
	listTimeout = 5 * time.Second
	// watchSeconds is after how long the API server ends a watch. Object then lists again. client-go's pings notice a dead
	// connection.
	watchSeconds = 300
	// listPause is the least time between two lists.
	listPause = 2 * time.Second
)

// News is the object's state, or the error of a request. Without an object and an error, the object doesn't exist.
type News struct {
	Object client.Object
	Err    error
}

// Object watches one object until the context ends. It calls report with every state that the API server sends, in
// order, and with the error of each failed request. list is an empty list of the object's kind.
func Object(ctx context.Context, c client.WithWatch, list client.ObjectList, key types.NamespacedName,
	report func(News)) {
	for ctx.Err() == nil {
		if err := listAndWatch(ctx, c, list, key, report); err != nil && ctx.Err() == nil {
			report(News{Err: err})
		}
		select {
		case <-ctx.Done():
		case <-time.After(listPause):
		}
	}
}

func listAndWatch(ctx context.Context, c client.WithWatch, kind client.ObjectList, key types.NamespacedName,
	report func(News)) error {
	list, ok := kind.DeepCopyObject().(client.ObjectList)
	if !ok {
		return fmt.Errorf("%T isn't a list type", kind)
	}
	these := []client.ListOption{client.InNamespace(key.Namespace),
		client.MatchingFields{metav1.ObjectNameField: key.Name}}
	within, cancel := context.WithTimeout(ctx, listTimeout)
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
	report(now)

	changes, err := c.Watch(ctx, list, append(these, &client.ListOptions{Raw: &metav1.ListOptions{
		ResourceVersion: list.GetResourceVersion(), TimeoutSeconds: ptr.To[int64](watchSeconds),
	}})...)
	if err != nil {
		return err
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		if err := forward(change, report); err != nil {
			return err
		}
	}
	return nil
}

func forward(change watch.Event, report func(News)) error {
	switch change.Type {
	case watch.Added, watch.Modified:
		object, _ := change.Object.(client.Object)
		report(News{Object: object})
	case watch.Deleted:
		report(News{})
	case watch.Error:
		if err := apierrors.FromObject(change.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return err
		}
	case watch.Bookmark: // not requested
	}
	return nil
}
