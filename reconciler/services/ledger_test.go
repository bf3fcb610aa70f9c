package services

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fakes "k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

// TestMovedLedgerIsDeletedOnceTheMuxNamesTheNewOne: a failed delete is an Event.
func TestMovedLedgerIsDeletedOnceTheMuxNamesTheNewOne(t *testing.T) {
	mux := types.NamespacedName{Namespace: "svc-mux", Name: "mux"}
	for name, test := range map[string]struct {
		named   string // the mux's annotation after the pass
		refuse  bool
		deleted bool
		told    string
	}{
		"the mux names the old ledger":    {"old", false, false, ""},
		"the mux names the new ledger":    {"new", false, true, ""},
		"the mux was drained":             {"", false, true, ""},
		"the API server refuses a delete": {"new", true, false, "Delete it by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			line, events := newLine(t, answering{}), fakes.NewFakeRecorder(1)
			keys := line.Language.Keys()
			old, err := record.Encode(plan.Ledger{Mux: mux, Generation: 1}, keys)
			if err != nil {
				t.Fatal(err)
			}
			server := fake.NewClientBuilder().WithObjects(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: mux.Namespace, Name: "old", UID: "uid", Labels: old.Labels,
					Annotations: old.Annotations},
				Data: map[string]string{record.PlainKey: old.Plain},
			}).Build()
			writer := interceptor.NewClient(server, interceptor.Funcs{
				Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
					if test.refuse {
						return errors.New("no")
					}
					return c.Delete(ctx, obj, opts...)
				},
			})
			line.Ledgers, line.Events = ledger.NewStore(keys, emptyCache{}, server, writer), events
			o := &pass{Line: line, memory: newMemory(budget.Limit{}), service: service("1"), world: plan.World{Key: mux}}
			if o.entry, err = line.Ledgers.Read(t.Context(),
				ledger.Ask{Mux: mux, Name: "new", InForce: "old", Stamp: 1}); err != nil {
				t.Fatal(err)
			}
			if err := o.writeLedger(t.Context(), &plan.LedgerWrite{Ledger: plan.Ledger{Mux: mux, Generation: 2}}); err != nil {
				t.Fatal(err)
			}
			o.service.Annotations[keys.Ledger] = test.named
			o.dropOld(t.Context())
			err = server.Get(t.Context(), client.ObjectKey{Namespace: mux.Namespace, Name: "old"}, &corev1.ConfigMap{})
			if gone := client.IgnoreNotFound(err) == nil && err != nil; gone != test.deleted {
				t.Errorf("the old ledger is deleted: %t, %v", gone, err)
			}
			told := ""
			select {
			case told = <-events.Events:
			default:
			}
			if !strings.Contains(told, test.told) || (told == "") != (test.told == "") {
				t.Errorf("got Event %q", told)
			}
		})
	}
}

// TestALedgerThatAnotherWriterKeepsChangingWaitsForItsTurn: such as one whose labels are removed after each write.
func TestALedgerThatAnotherWriterKeepsChangingWaitsForItsTurn(t *testing.T) {
	line, mux, now := newLine(t, answering{}), types.NamespacedName{Namespace: "svc-mux", Name: "mux"},
		time.Unix(1_000_000, 0)
	server := fake.NewClientBuilder().Build()
	line.Ledgers, line.Now = ledger.NewStore(line.Language.Keys(), emptyCache{}, server, server), func() time.Time {
		return now
	}
	o := &pass{Line: line, memory: newMemory(budget.Limit{}), service: service("1"), world: plan.World{Key: mux}}
	var versions []string
	settle := func(generation int64) time.Time {
		t.Helper()
		var err error
		if o.entry, err = line.Ledgers.Read(t.Context(), ledger.Ask{Mux: mux, Name: "claims"}); err != nil {
			t.Fatal(err)
		}
		again, err := o.settle(t.Context(), &plan.LedgerWrite{Ledger: plan.Ledger{Mux: mux, Generation: generation}})
		if err != nil {
			t.Fatal(err)
		}
		cm := &corev1.ConfigMap{}
		if err := server.Get(t.Context(), client.ObjectKey{Namespace: mux.Namespace, Name: "claims"}, cm); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, cm.ResourceVersion)
		cm.Labels = nil
		if err := server.Update(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
		return again
	}
	for turn, waits := range []bool{false, false, true, true} { // the first correction is made at once
		if again := settle(1); again.After(now) != waits {
			t.Errorf("turn %d: again at %s", turn, again)
		}
	}
	if again := settle(2); !again.IsZero() {
		t.Errorf("another ledger waits until %s", again)
	}
	if diff := cmp.Diff([]string{"1", "3", "4", "5", "7"}, versions); diff != "" {
		t.Errorf("versions that were read, with a change by another writer after each (-want +got):\n%s", diff)
	}
}

func TestRebuildFrom(t *testing.T) {
	line, from := newLine(t, answering{}), time.Now()
	if !line.rebuildFrom().IsZero() {
		t.Error("a process without a predecessor waits")
	}
	line.RebuildFrom = func() time.Time { return from }
	if !line.rebuildFrom().Equal(from) {
		t.Errorf("it waits until %s", line.rebuildFrom())
	}
}
