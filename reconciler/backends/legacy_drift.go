package backends

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/fight"
	"nowake.ai/svc-lb-mux/reconciler/fresh"
)

// OursAmongEndpoints selects what the watch of Endpoints is to show.
func OursAmongEndpoints() labels.Selector {
	return labels.SelectorFromSet(labels.Set{originalLabel: original})
}

// written is what was written last: what for, and what the API server made of it, which puts subsets into an order of its
// own.
type written struct {
	sum    [sha256.Size]byte
	answer *corev1.Endpoints //nolint:staticcheck // deprecated, and asked for by who still reads it
}

// difference is how what there is differs from what there ought to be.
type difference uint8

const (
	none    difference = iota
	outdate            // we have something else to say
	changed            // somebody else has said something else
)

func newLegacy(l *line) *legacy {
	return &legacy{
		line:     l,
		answers:  fresh.New[*corev1.Endpoints](patience, l.Now), //nolint:staticcheck // as above
		quarrels: fight.New[types.NamespacedName](),
		last:     map[types.NamespacedName]written{},
		told:     map[types.NamespacedName]bool{},
	}
}

// itself wakes the mux of an Endpoints object, which has its name.
func (e *legacy) itself(_ context.Context, object client.Object) []reconcile.Request {
	e.answers.Seen(object.(*corev1.Endpoints)) //nolint:staticcheck // as above
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}

// differs compares what was written last with what is to be written, and with what is there as far as it is known.
//
//nolint:staticcheck // as above
func (e *legacy) differs(ctx context.Context, mux types.NamespacedName, sum [sha256.Size]byte) (difference, error) {
	e.mu.Lock()
	last, known := e.last[mux]
	e.mu.Unlock()
	if !known || last.sum != sum {
		return outdate, nil
	}
	cached, written := &corev1.Endpoints{}, e.answers.Before()
	if err := e.cache.Get(ctx, mux, cached); apierrors.IsNotFound(err) {
		cached = nil
	} else if err != nil {
		return none, fmt.Errorf("read Endpoints %s: %w", mux, err)
	}
	if is := written.Latest(mux, cached); is == nil || !saysTheSame(is, last.answer) {
		return changed, nil
	}
	return none, nil
}

// saysTheSame leaves out what others put beside ours.
//
//nolint:staticcheck // as above
func saysTheSame(is, was *corev1.Endpoints) bool {
	return equality.Semantic.DeepEqual(is.Subsets, was.Subsets) && equality.Semantic.DeepEqual(is.OwnerReferences, was.OwnerReferences) &&
		covers(is.Labels, was.Labels) && covers(is.Annotations, was.Annotations)
}

// covers is true if a map has all of another one.
func covers(all, some map[string]string) bool {
	both := maps.Clone(some)
	maps.DeleteFunc(both, func(key, value string) bool { return all[key] == value })
	return len(both) == 0
}

//nolint:staticcheck // as above
func (e *legacy) remember(answer *corev1.Endpoints, sum [sha256.Size]byte) {
	answer.ManagedFields = nil
	e.answers.Put(answer)
	e.mu.Lock()
	defer e.mu.Unlock()
	mux := client.ObjectKeyFromObject(answer)
	e.last[mux] = written{sum, answer}
	delete(e.told, mux)
}

func (e *legacy) forget(mux types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.last, mux)
	delete(e.told, mux)
}
