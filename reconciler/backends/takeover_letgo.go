package backends

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// missing says what keeps our slices from standing in for the original's Endpoints; nothing if they do.
//
//nolint:staticcheck // Endpoints are deprecated, and what the original writes
func (t *takeover) missing(ctx context.Context, mux *corev1.Service, left *corev1.Endpoints) (string, error) {
	key := client.ObjectKeyFromObject(mux)
	channels, err := channelsOf(ctx, t.cache, key)
	if err != nil {
		return "", err
	}
	if _, known := t.Claims(types.NamespacedName{}, key); !known {
		return "nothing has been decided about the mux yet", nil
	}
	claimed := map[string]bool{}
	for _, channel := range channels {
		view, err := t.observe(ctx, channel)
		if err != nil {
			return "", err
		}
		if decided := muxslices.Decide(view.View); !decided.Empty() || len(decided.Refused) > 0 {
			return fmt.Sprintf("the backends of %s aren't in place", channel), nil
		}
		for _, claim := range view.Claims {
			claimed[claim.MuxName] = true
		}
	}
	for _, port := range mux.Spec.Ports {
		if !claimed[port.Name] && hasReady(left, port.Name) {
			return fmt.Sprintf("nobody has claimed port %s, %d/%s", port.Name, port.Port, port.Protocol), nil
		}
	}
	return "", nil
}

//nolint:staticcheck // Endpoints are deprecated, and what the original writes
func hasReady(endpoints *corev1.Endpoints, port string) bool {
	for _, subset := range endpoints.Subsets {
		for _, p := range subset.Ports {
			if p.Name == port && len(subset.Addresses) > 0 {
				return true
			}
		}
	}
	return false
}

// letGo has the object mirrored no longer, and deletes it once its mirror images are gone: else the mirroring controller
// and the garbage collector would both be at them. It says whether that is all.
//
//nolint:staticcheck // Endpoints are deprecated, and what the original writes
func (t *takeover) letGo(ctx context.Context, left *corev1.Endpoints) (bool, error) {
	key := client.ObjectKeyFromObject(left)
	object := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: left.Namespace, Name: left.Name}}
	if left.Labels[discoveryv1.LabelSkipMirror] != "true" {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": left.ResourceVersion,
			"labels":          map[string]string{discoveryv1.LabelSkipMirror: "true"},
		}})
		if err != nil {
			return false, err
		}
		t.pace.Forget(key)
		return t.keep, t.Writer.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
	}
	mirrored, err := Sources(ctx, t.cache, key)
	if err != nil || slices.ContainsFunc(mirrored, isMirrored) && t.pace.NumRequeues(key) < enough {
		return false, err
	}
	err = t.Writer.Delete(ctx, object, client.Preconditions{UID: &left.UID})
	return true, client.IgnoreNotFound(err)
}

func isMirrored(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] == muxslices.MirroringController
}
