package addresses

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/validation"
)

// Kube reads and writes objects of the API server.
type Kube struct {
	Keys validation.Keys
	// Namespace is the one of the release, and MuxNamespaces are those of muxes; every namespace if empty.
	Namespace     string
	MuxNamespaces []string
	// Cache reads informers, and Live asks the API server.
	Cache, Live client.Reader
	Writer      client.Client
	Events      record.EventRecorder
}

var _ API = (*Kube)(nil)

// pageSize limits the answers of live lists: a cluster may have tens of thousands of Services.
const pageSize = 500

// Claims reads the ConfigMaps of pools. A list by label finds those of pools that aren't configured any more. A label
// may be edited away, so a ConfigMap that isn't in the list is read by name before it counts as lost.
func (k *Kube) Claims(ctx context.Context, pools []string) ([]corev1.ConfigMap, error) {
	var list corev1.ConfigMapList
	if err := k.Live.List(ctx, &list, client.InNamespace(k.Namespace), client.HasLabels{k.Keys.Pool}); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for i := range list.Items {
		found[list.Items[i].Name] = true
	}
	for _, pool := range pools {
		name := claims.Name(pool)
		if found[name] {
			continue
		}
		var cm corev1.ConfigMap
		err := k.Live.Get(ctx, types.NamespacedName{Namespace: k.Namespace, Name: name}, &cm)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if !apierrors.IsNotFound(err) {
			list.Items = append(list.Items, cm)
		}
	}
	return list.Items, nil
}

// Services lists the Services in the namespaces of muxes.
func (k *Kube) Services(ctx context.Context, live bool) ([]*corev1.Service, error) {
	namespaces := k.MuxNamespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var all []*corev1.Service
	for _, namespace := range namespaces {
		for next := ""; ; {
			var list corev1.ServiceList
			options := []client.ListOption{client.InNamespace(namespace)}
			reader := k.Cache
			if live {
				reader, options = k.Live, append(options, client.Limit(pageSize), client.Continue(next))
			}
			if err := reader.List(ctx, &list, options...); err != nil {
				return nil, err
			}
			for i := range list.Items {
				all = append(all, &list.Items[i])
			}
			// A cache's list is whole. Its Continue isn't a token: it says that caches have no pages.
			if next = list.Continue; next == "" || !live {
				break
			}
		}
	}
	return all, nil
}

// Leases lists the Leases of gateways.
func (k *Kube) Leases(ctx context.Context, live bool) ([]*coordinationv1.Lease, error) {
	var list coordinationv1.LeaseList
	reader := k.Cache
	if live {
		reader = k.Live
	}
	if err := reader.List(ctx, &list, client.InNamespace(k.Namespace), client.HasLabels{k.Keys.Pool}); err != nil {
		return nil, err
	}
	var all []*coordinationv1.Lease
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, nil
}

// WriteClaims creates or updates a ConfigMap.
func (k *Kube) WriteClaims(ctx context.Context, cm *corev1.ConfigMap) error {
	if cm.ResourceVersion == "" {
		return k.Writer.Create(ctx, cm)
	}
	return k.Writer.Update(ctx, cm)
}

// WriteStatus patches the status of a Service.
func (k *Kube) WriteStatus(ctx context.Context, change Change) error {
	data, err := change.patch(k.Keys)
	if err != nil {
		return err
	}
	target := &corev1.Service{}
	target.Namespace, target.Name = change.Service.Namespace, change.Service.Name
	return k.Writer.Status().Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, data))
}

// Tell emits an Event of a mux.
func (k *Kube) Tell(svc *corev1.Service, event decide.Event) {
	kind := corev1.EventTypeNormal
	if event.IsWarning {
		kind = corev1.EventTypeWarning
	}
	k.Events.Event(svc, kind, event.Reason, event.Message)
}

// Warn emits an Event of a Lease or a ConfigMap.
func (k *Kube) Warn(pool string, alarm decide.Alarm) {
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: k.Namespace, Name: claims.Name(pool)}
	if alarm.Gateway != "" {
		about.APIVersion, about.Kind = coordinationv1.SchemeGroupVersion.String(), "Lease"
		about.Name = lease.Name(alarm.Gateway)
	}
	k.Events.Event(about, corev1.EventTypeWarning, alarm.Reason, alarm.Message)
}
