package ledger

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

// TestALedgerMoves plays the three writes of a move. After each, it reads as a process would that has just started.
func TestALedgerMoves(t *testing.T) {
	w := newStoreWorld(t)
	w.put(oldName, one(7, 80))
	w.catchUp()
	entry := w.read(moves(7), "GET new-name, GET old-name")
	w.expect(entry.Reading, plan.Good, oldName, 7, 80)
	if !entry.Moved || entry.Old() != oldName || entry.Unseen {
		t.Errorf("moved: %t, from %q, unseen: %t", entry.Moved, entry.Old(), entry.Unseen)
	}
	entry = w.write(entry, one(8, 80), "POST new-name")
	if entry.Moved || entry.Old() != oldName || w.live(oldName) == nil {
		t.Errorf("moved: %t, from %q; the old one: %v", entry.Moved, entry.Old(), w.live(oldName))
	}

	w.store.Forget(mux)
	w.catchUp()
	again := w.read(moves(7), "GET new-name, GET old-name")
	w.expect(again.Reading, plan.Good, newName, 8, 80)
	if again.Moved || again.Old() != oldName {
		t.Errorf("moved: %t, from %q", again.Moved, again.Old())
	}
	again = w.write(again, one(9, 80), "PATCH new-name")

	w.catchUp()
	w.expect(w.read(asks(9), "").Reading, plan.Good, newName, 9, 80)
	if err := w.store.DropOld(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.requests("DELETE old-name")
	if w.live(oldName) != nil || w.store.recall(place{mux, oldName}) != nil {
		t.Error("the old one is there, or remembered")
	}
	after := w.read(asks(9), "")
	w.expect(after.Reading, plan.Good, newName, 9, 80)
	if err := w.store.DropOld(t.Context(), after); err != nil || after.Old() != "" {
		t.Errorf("%q is to be deleted: %v", after.Old(), err)
	}
	w.requests("")
}

// TestWhichLedgerCounts: there are two ConfigMaps, and the mux names the old one.
func TestWhichLedgerCounts(t *testing.T) {
	foreign := func(cm *corev1.ConfigMap) { cm.Annotations[keys.Mux] = "svc-mux/other" }
	broken := func(cm *corev1.ConfigMap) { cm.Data[record.PlainKey] = "{" }
	textOfAnother := func(cm *corev1.ConfigMap) { cm.Data[record.PlainKey] = `{"mux":{"namespace":"a","name":"b"}}` }
	for name, test := range map[string]struct {
		old, wanted         *plan.Ledger
		editOld, editWanted func(*corev1.ConfigMap)
		condition           plan.LedgerState
		name                string
		moved               bool
		write               string // how the next ledger is written; empty if it can't be written
	}{
		"the old one alone": {ptr(one(7, 80)), nil, nil, nil, plan.Good, oldName, true, "POST new-name"},
		"a leftover of an earlier move": {ptr(one(7, 80)), ptr(one(3, 81)), nil, nil, plan.Good, oldName, true,
			"PATCH new-name"},
		"a copy of the old one": {ptr(one(7, 80)), ptr(one(7, 80)), nil, nil, plan.Good, oldName, true,
			"PATCH new-name"},
		"a move that was interrupted": {ptr(one(7, 80)), ptr(one(8, 80)), nil, nil, plan.Good, newName, false,
			"PATCH new-name"},
		"one that knows less": {ptr(one(7, 80)), ptr(one(8, 81)), nil, nil, plan.Good, oldName, true,
			"PATCH new-name"},
		"one that isn't past the old one": {ptr(one(9, 80)), ptr(one(8, 80)), nil, nil, plan.Good, oldName, true,
			"PATCH new-name"},
		"the wanted one is broken": {ptr(one(7, 80)), ptr(one(8, 80)), nil, broken, plan.Good, oldName, true,
			"PATCH new-name"},
		"the wanted one is another mux's": {ptr(one(7, 80)), ptr(one(8, 80)), nil, foreign, plan.Foreign, newName, false,
			""},
		"the old one is broken": {ptr(one(7, 80)), ptr(one(8, 80)), broken, nil, plan.Unreadable, oldName, true,
			""},
		"the old one's text is another mux's": {ptr(one(7, 80)), nil, textOfAnother, nil, plan.Foreign, oldName, true, ""},
		"the old one is another mux's": {ptr(one(7, 80)), ptr(one(7, 80)), foreign, nil, plan.Good, newName, false,
			"PATCH new-name"},
		"the old one is gone": {nil, ptr(one(7, 80)), nil, nil, plan.Edited, newName, false,
			"PATCH new-name"},
		"both are gone": {nil, nil, nil, nil, plan.Missing, newName, false, "POST new-name"},
		"the old one is another's, no other": {ptr(one(7, 80)), nil, foreign, nil, plan.Missing, newName, false,
			"POST new-name"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStoreWorld(t)
			for name, ledger := range map[string]*plan.Ledger{oldName: test.old, newName: test.wanted} {
				if ledger != nil {
					w.put(name, *ledger)
				}
			}
			for name, edit := range map[string]func(*corev1.ConfigMap){oldName: test.editOld, newName: test.editWanted} {
				if edit != nil {
					w.edit(name, edit)
				}
			}
			w.catchUp()
			entry := w.read(moves(7), "GET new-name, GET old-name")
			if entry.Condition != test.condition || entry.Name != test.name || entry.Moved != test.moved {
				t.Errorf("%s is read as %d, moved: %t: %s", entry.Name, entry.Condition, entry.Moved, entry.Why)
			}
			if test.write != "" {
				w.write(entry, one(9, 80), test.write)
			} else if _, err := w.store.Write(t.Context(), one(9, 80), entry); err == nil {
				t.Error("it is overwritten")
			}
		})
	}
}

func ptr[T any](value T) *T { return &value }

// TestTheOldNameAgain: the owner changes the name back before the mux is switched.
func TestTheOldNameAgain(t *testing.T) {
	w := newStoreWorld(t)
	w.put(oldName, one(7, 80))
	w.put(newName, one(8, 80))
	w.catchUp()
	entry := w.read(Ask{Mux: mux, Name: oldName, InForce: oldName, Stamp: 7}, "GET old-name")
	w.expect(entry.Reading, plan.Good, oldName, 7, 80)
	if entry.Moved || entry.Old() != "" {
		t.Errorf("moved: %t, from %q", entry.Moved, entry.Old())
	}
}

// TestWithoutAnAnnotationTheWantedNameCounts: older versions and the original don't write the annotation ledger.
func TestWithoutAnAnnotationTheWantedNameCounts(t *testing.T) {
	w := newStoreWorld(t)
	w.put(newName, one(7, 80))
	w.catchUp()
	w.expect(w.read(Ask{Mux: mux, Name: newName, Stamp: 7}, "GET new-name").Reading, plan.Good, newName, 7, 80)
}

// TestANameThatCannotBeRead: the name that the owner wants can't be read. The mux is frozen because of that, and its
// ledger is still known.
func TestANameThatCannotBeRead(t *testing.T) {
	w := newStoreWorld(t)
	w.put(oldName, one(7, 80))
	w.catchUp()
	entry := w.read(Ask{Mux: mux, InForce: oldName, Stamp: 7}, "GET old-name")
	if w.expect(entry.Reading, plan.Good, oldName, 7, 80); entry.Moved {
		t.Error("it moves to nowhere")
	}
}

func TestAnOldLedgerThatCannotBeDeletedIsTold(t *testing.T) {
	for what, test := range map[string]struct {
		err  error
		want string // part of the error; empty if there is none
	}{
		"forbidden": {apierrors.NewForbidden(corev1.Resource("configmaps"), oldName, errors.New("no")), "no"},
		"changed": {apierrors.NewConflict(corev1.Resource("configmaps"), oldName, errors.New("precondition")),
			"it was changed since it was read"},
		"deleted":      {apierrors.NewNotFound(corev1.Resource("configmaps"), oldName), ""},
		"as it should": {nil, ""},
	} {
		t.Run(what, func(t *testing.T) {
			w := newStoreWorld(t)
			w.put(oldName, one(7, 80))
			w.catchUp()
			entry := w.write(w.read(moves(7), "GET new-name, GET old-name"), one(8, 80), "POST new-name")
			w.refuse["DELETE"] = test.err
			err := w.store.DropOld(t.Context(), entry)
			if (err == nil) != (test.want == "") {
				t.Fatalf("the error is %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "svc-mux/old-name") ||
				apierrors.IsForbidden(err) || apierrors.IsConflict(err)) {
				t.Errorf("it reads as if the write had failed, or doesn't say what: %v", err)
			}
		})
	}
}
