package kube

import (
	"context"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// EachService calls take with each Service, page by page. So a caller can drop Services that it doesn't need. An empty
// namespace is all namespaces. EachService returns the resource version from which a watch goes on.
func (c *Cluster) EachService(ctx context.Context, namespace string, take func(*corev1.Service)) (string, error) {
	version := ""
	err := read(ctx, c, c.core, "services", namespace, "", func() *corev1.ServiceList { return &corev1.ServiceList{} },
		func(l *corev1.ServiceList) {
			version = l.ResourceVersion
			for i := range l.Items {
				svc := l.Items[i] // a copy: a pointer into the page would keep all of the page
				take(&svc)
			}
		})
	return version, err
}

// EachSlice calls take with each EndpointSlice, as EachService does.
func (c *Cluster) EachSlice(ctx context.Context, namespace, selector string,
	take func(*discoveryv1.EndpointSlice)) (string, error) {
	version := ""
	err := read(ctx, c, c.discovery, "endpointslices", namespace, selector, func() *discoveryv1.EndpointSliceList {
		return &discoveryv1.EndpointSliceList{}
	},
		func(l *discoveryv1.EndpointSliceList) {
			version = l.ResourceVersion
			for i := range l.Items {
				slice := l.Items[i]
				take(&slice)
			}
		})
	return version, err
}

// ConfigMap reads one ConfigMap. The result is nil if it doesn't exist.
func (c *Cluster) ConfigMap(ctx context.Context, key types.NamespacedName) (*corev1.ConfigMap, error) {
	cm := &corev1.ConfigMap{}
	err := c.core.Get().Resource("configmaps").Namespace(key.Namespace).Name(key.Name).Do(ctx).Into(cm)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain(err)
	}
	return cm, nil
}

// expired is the error of a watch that can't go on where it was.
type expired struct{}

func (expired) Error() string { return "the watch is too old" }

// IsExpired says that a watch can't go on where it was: list again.
func IsExpired(err error) bool { return errors.As(err, &expired{}) }

// WatchServices calls take with each change of a Service after a resource version, until the watch ends. It returns the
// last resource version.
func (c *Cluster) WatchServices(ctx context.Context, namespace, from string, take func(watch.Event)) (string, error) {
	return c.watch(ctx, c.core, "services", namespace, from, take)
}

// WatchSlices is WatchServices for EndpointSlices.
func (c *Cluster) WatchSlices(ctx context.Context, namespace, from string, take func(watch.Event)) (string, error) {
	return c.watch(ctx, c.discovery, "endpointslices", namespace, from, take)
}

func (c *Cluster) watch(ctx context.Context, client *rest.RESTClient, resource, namespace, from string,
	take func(watch.Event)) (string, error) {
	changes, err := client.Get().Resource(resource).NamespaceIfScoped(namespace, namespace != "").
		Param("watch", "true").Param("allowWatchBookmarks", "true").Param("resourceVersion", from).Timeout(0).Watch(ctx)
	if isExpired(err) {
		return from, expired{}
	}
	if err != nil {
		return from, c.explain(err)
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		if change.Type == watch.Error {
			if err := apierrors.FromObject(change.Object); !isExpired(err) {
				return from, c.explain(err)
			}
			return from, expired{}
		}
		from = versionOf(change.Object, from)
		if change.Type != watch.Bookmark {
			take(change)
		}
	}
	return from, ctx.Err()
}

func isExpired(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && (status.Status().Code == http.StatusGone || apierrors.IsResourceExpired(err))
}

func versionOf(object runtime.Object, otherwise string) string {
	switch object := object.(type) {
	case *corev1.Service:
		return object.ResourceVersion
	case *discoveryv1.EndpointSlice:
		return object.ResourceVersion
	}
	return otherwise
}
