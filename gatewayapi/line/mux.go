package line

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/gatewayapi/read"
)

// MuxNameTaken is a Gateway whose mux's name another Service has.
const MuxNameTaken = "MuxNameTaken"

// muxOf returns the Service that was made as a Gateway's mux, as the cache shows it. Without one it returns nil.
func (l *serving) muxOf(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	is, gateway := &corev1.Service{}, &gatewayv1.Gateway{}
	if err := l.cache.Get(ctx, read.MuxOf(key), is); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if err := l.cache.Get(ctx, key, gateway); err != nil || !read.IsMuxOf(&l.keys, is, gateway) {
		return nil, client.IgnoreNotFound(err)
	}
	return is, nil
}

// ensureMux creates the Service that is a Gateway's mux, or corrects its labels and annotations; its ports belong to the line of muxes. It
// returns the Service, or nil while it doesn't exist, and the reason if a wish of the Gateway can't be met. A mux that can't be corrected stays.
func (l *serving) ensureMux(ctx context.Context, o *read.Observed, template *template) (*corev1.Service, *read.Refusal, error) {
	want, refused := read.MuxService(l.Language, o.Gateway, &template.Template)
	refused = cmp.Or(template.refused, refused)
	mux, err := l.muxOf(ctx, client.ObjectKeyFromObject(o.Gateway))
	switch {
	case err != nil || refused != nil:
		return mux, refused, err
	case mux != nil:
		err = l.correct(ctx, mux, want)
		if isRefusal(err) {
			return mux, refusedBy(err, o.Mux, "changed"), nil
		}
		return mux, nil, err
	}
	err = l.write.Create(ctx, want)
	switch {
	case apierrors.IsAlreadyExists(err) && l.isInCache(ctx, o.Mux): // otherwise it may be our own, and the cache is behind
		return nil, &read.Refusal{Reason: MuxNameTaken, Message: fmt.Sprintf("Service %s is there, and wasn't made for this Gateway: delete it, or name the Gateway "+
			"otherwise", o.Mux)}, nil
	case isRefusal(err):
		return nil, refusedBy(err, o.Mux, "made"), nil
	case err != nil:
		return nil, nil, fmt.Errorf("service %s of Gateway %s: %w", o.Mux, client.ObjectKeyFromObject(o.Gateway), err)
	}
	return want, nil, nil
}

// isRefusal is true for an error that retries alone don't overcome.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}

// refusedBy is what a Gateway is told if the API server refuses its mux.
func refusedBy(err error, mux types.NamespacedName, done string) *read.Refusal {
	return &read.Refusal{Reason: string(gatewayv1.GatewayReasonInvalidParameters), Message: fmt.Sprintf("Service %s can't be %s: %s", mux, done, err)}
}

func (l *serving) isInCache(ctx context.Context, service types.NamespacedName) bool {
	return l.cache.Get(ctx, service, &corev1.Service{}, client.UnsafeDisableDeepCopy) == nil
}

// correct sets labels and annotations of a mux that differ. Those that a Gateway doesn't ask for any more stay: other programs may have set
// them.
func (l *serving) correct(ctx context.Context, is, want *corev1.Service) error {
	labels, annotations := differing(is.Labels, want.Labels), differing(is.Annotations, want.Annotations)
	if len(labels)+len(annotations) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": is.UID, "labels": labels, "annotations": annotations}})
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(l.write.Patch(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: is.Namespace, Name: is.Name}},
		client.RawPatch(types.MergePatchType, body)))
}

func differing(is, want map[string]string) map[string]string {
	all := map[string]string{}
	for key, value := range want {
		if now, has := is[key]; !has || now != value {
			all[key] = value
		}
	}
	return all
}

// leave deletes the mux of a Gateway that is another controller's by now.
func (l *serving) leave(ctx context.Context, key types.NamespacedName) error {
	l.Board.drop(read.MuxOf(key), key)
	mux, err := l.muxOf(ctx, key)
	if mux == nil || err != nil {
		return err
	}
	return client.IgnoreNotFound(l.write.Delete(ctx, mux, client.Preconditions{UID: &mux.UID}))
}
