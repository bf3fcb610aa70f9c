package backends

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// conflicting refuses every deletion with a write conflict.
type conflicting struct{ client.Client }

func (conflicting) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "endpointslices"}, object.GetName(), errors.New("try again"))
}

// TestSweepIsRepeatedAfterAConflict gets a conflict for a slice that nobody changed: no event has the slice looked at again.
func TestSweepIsRepeatedAfterAConflict(t *testing.T) {
	l, _ := victim(t, 2)
	l.Writer = conflicting{}
	result, err := (&sweeper{l}).Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "svc-mux", Name: "mux"}})
	if err != nil || result.RequeueAfter != sweepPause {
		t.Errorf("the next sweep is in %s, not in %s: %v", result.RequeueAfter, sweepPause, err)
	}
}
