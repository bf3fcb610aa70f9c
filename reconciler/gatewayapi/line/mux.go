package line

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
)

// MuxNameTaken is the reason for refusing a Gateway: another Service has the name of its mux.
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

// made is a Gateway's mux after a pass looked after it.
type made struct {
	mux     *corev1.Service // nil while it doesn't exist
	refused *read.Refusal   // why a wish of the Gateway can't be met
	again   time.Duration   // after it, a postponed correction is due
}

// ensureMux creates the Service that is a Gateway's mux, or corrects its labels and annotations. The mux line writes
// its ports. If a correction is refused, the mux stays as it is.
func (l *serving) ensureMux(ctx context.Context, o *read.Observed, template *template) (made, error) {
	want, refused := read.MuxService(l.Language, o.Gateway, &template.Template)
	refused = cmp.Or(template.refused, refused)
	mux, err := l.muxOf(ctx, client.ObjectKeyFromObject(o.Gateway))
	switch {
	case err != nil || refused != nil:
		return made{mux: mux, refused: refused}, err
	case mux != nil:
		again, err := l.correct(ctx, mux, want)
		refused = read.OtherAddress(l.Language, o.Gateway, mux)
		if refusal.Is(err) {
			return made{mux: mux, refused: refusedBy(err, o.Mux, "changed")}, nil
		}
		return made{mux: mux, refused: refused, again: again}, err
	}
	err = l.write.Create(ctx, want)
	switch {
	case apierrors.IsAlreadyExists(err) && l.isInCache(ctx, o.Mux):
		// a Service that isn't in the cache may be our own, and the cache is behind
		return made{refused: &read.Refusal{Reason: MuxNameTaken, Message: fmt.Sprintf("Service %s is there, and wasn't "+
			"made for this Gateway: delete it, or name the Gateway otherwise", o.Mux)}}, nil
	case refusal.Is(err):
		return made{refused: refusedBy(err, o.Mux, "made")}, nil
	case err != nil:
		return made{}, fmt.Errorf("service %s of Gateway %s: %w", o.Mux, client.ObjectKeyFromObject(o.Gateway), err)
	}
	return made{mux: want}, nil
}

// refusedBy returns the refusal of a Gateway whose mux the API server refuses.
func refusedBy(err error, mux types.NamespacedName, done string) *read.Refusal {
	return &read.Refusal{Reason: string(gatewayv1.GatewayReasonInvalidParameters),
		Message: fmt.Sprintf("Service %s can't be %s: %s", mux, done, refusal.Words(err))}
}

func (l *serving) isInCache(ctx context.Context, service types.NamespacedName) bool {
	return l.cache.Get(ctx, service, &corev1.Service{}, client.UnsafeDisableDeepCopy) == nil
}

// correct sets labels and annotations of a mux that differ. Those that a Gateway doesn't ask for any more stay: other
// programs may have set them. The annotation of the address is the exception: the pool would go on carrying an address
// that the Gateway no longer asks for.
//
// If another writer undoes the corrections, each further one waits longer: a provider may look at the load balancer
// after each. correct returns how long this one must wait.
func (l *serving) correct(ctx context.Context, is, want *corev1.Service) (time.Duration, error) {
	labels, annotations := differing(is.Labels, want.Labels), differing(is.Annotations, want.Annotations)
	if _, asks := want.Annotations[l.keys.Address]; !asks && is.Annotations[l.keys.Address] != "" {
		annotations[l.keys.Address] = nil
	}
	if len(labels)+len(annotations) == 0 {
		return 0, nil
	}
	key := client.ObjectKeyFromObject(is)
	if turn := l.paces.Ask(key, pace.ContentOf(want.Labels, want.Annotations), l.Now()); turn.Wait > 0 {
		return turn.Wait, nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": is.UID, "labels": labels,
		"annotations": annotations}})
	if err != nil {
		return 0, err
	}
	err = l.write.Patch(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: is.Namespace, Name: is.Name}},
		client.RawPatch(types.MergePatchType, body))
	if err != nil {
		l.paces.Failed(key)
	}
	return 0, client.IgnoreNotFound(err)
}

func differing(is, want map[string]string) map[string]any {
	all := map[string]any{}
	for key, value := range want {
		if now, has := is[key]; !has || now != value {
			all[key] = value
		}
	}
	return all
}

// leave takes a Gateway that is another controller's by now off the board, and deletes its mux.
func (l *serving) leave(ctx context.Context, key types.NamespacedName) error {
	l.Board.drop(read.MuxOf(key), key)
	l.setPassed(key)
	mux, err := l.muxOf(ctx, key)
	if mux == nil || err != nil {
		return err
	}
	return client.IgnoreNotFound(l.write.Delete(ctx, mux, client.Preconditions{UID: &mux.UID}))
}
