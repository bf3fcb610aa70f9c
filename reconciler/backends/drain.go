package backends

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/validation"
)

// Drained removes slices and Endpoints from muxes that have no ports of ours any more.
type Drained struct {
	Keys   validation.Keys
	Cache  client.Reader
	Live   client.Reader
	Writer client.Writer
	// Ready is true for muxes whose ports are gone. If we may not delete a slice, that is an error on a mux that is Ours;
	// elsewhere the slice stays.
	Ready, Ours func(mux types.NamespacedName) bool
	// Would makes a dry run: it gets the slices that would be deleted. It may be nil.
	Would func(*discoveryv1.EndpointSlice)
}

// Slices deletes our slices on muxes that are ready. It returns how many it deleted on each.
func (d *Drained) Slices(ctx context.Context) (map[types.NamespacedName]int, error) {
	var list discoveryv1.EndpointSliceList
	if err := d.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list EndpointSlices: %w", err)
	}
	gone := map[types.NamespacedName]int{}
	for i := range list.Items {
		slice := &list.Items[i]
		mux := project.MuxOfSlice(d.Keys, slice)
		if !project.IsOurSlice(d.Keys, slice) || !d.Ready(mux) {
			continue
		}
		if d.Would != nil {
			d.Would(slice)
			continue
		}
		object := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: slice.Namespace, Name: slice.Name}}
		err := d.Writer.Delete(ctx, object, client.Preconditions{UID: &slice.UID})
		switch {
		case err == nil:
			gone[mux]++
		case isStale(err): // it is gone, and the cache is stale
		case apierrors.IsForbidden(err) && !d.Ours(mux):
		default:
			return gone, fmt.Errorf("delete EndpointSlice %s: %w", client.ObjectKeyFromObject(slice), err)
		}
	}
	return gone, nil
}

// Endpoints deletes the Endpoints object of a mux, if it is the original's or an earlier version's.
//
//nolint:staticcheck // Endpoints are deprecated, and the original writes them
func (d *Drained) Endpoints(ctx context.Context, mux types.NamespacedName) error {
	is, err := read(ctx, d.Live, mux, &corev1.Endpoints{})
	if err != nil {
		return err
	}
	if !isLeft(is, d.Keys) {
		return nil
	}
	if err := d.Writer.Delete(ctx, is, client.Preconditions{UID: &is.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Endpoints %s: %w", mux, err)
	}
	return nil
}
