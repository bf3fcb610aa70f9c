package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

// Write stores a ledger that was decided from an entry, under the name that the mux's owner wants, and returns the
// entry for the next write. If anybody wrote in between, the error is a conflict (apierrors.IsConflict): then read and
// decide again. Write leaves other people's keys, labels and annotations alone.
func (s *Store) Write(ctx context.Context, ledger plan.Ledger, entry Entry) (Entry, error) {
	mux := entry.ask.Mux
	if err := writable(&ledger, &entry); err != nil {
		return Entry{}, err
	}
	contents, err := record.Encode(ledger, s.keys)
	if err != nil {
		return Entry{}, err
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mux.Namespace, Name: entry.ask.Name}}
	if entry.at == nil {
		err = s.create(ctx, cm, contents)
	} else {
		err = s.patch(ctx, cm, contents, entry.at)
	}
	if err != nil {
		s.forget(place{mux, cm.Name}) // what the store remembers may be outdated
		return Entry{}, fmt.Errorf("write the ledger of mux %s to ConfigMap %s: %w", mux, client.ObjectKeyFromObject(cm), err)
	}
	written := plan.Reading{Ledger: contents.Ledger, Name: cm.Name}
	known := s.remember(mux, &reading{record.Read{Reading: written, Ours: true}, versionOf(cm)})
	written.Ledger = written.Ledger.Clone()
	return Entry{Reading: written, ask: entry.ask, at: &known.at, old: entry.old}, nil
}

// writable refuses to overwrite a ledger that freezes its mux, and to write the ledger of another mux.
func writable(ledger *plan.Ledger, entry *Entry) error {
	switch entry.Condition {
	case plan.Good, plan.Edited, plan.Missing:
	case plan.Unreadable, plan.Foreign, plan.Newer:
		return fmt.Errorf("the ledger of mux %s isn't overwritten: %s", entry.ask.Mux, entry.Why)
	}
	if ledger.Mux != entry.ask.Mux {
		return fmt.Errorf("the ledger of mux %s isn't written over that of mux %s", ledger.Mux, entry.ask.Mux)
	}
	return nil
}

// create creates the ConfigMap. It has no owner: it must outlive a mux that is deleted and created again.
func (s *Store) create(ctx context.Context, cm *corev1.ConfigMap, contents record.Contents) error {
	cm.Labels, cm.Annotations = contents.Labels, contents.Annotations
	if contents.Packed == nil {
		cm.Data = map[string]string{record.PlainKey: contents.Plain}
	} else {
		cm.BinaryData = map[string][]byte{record.PackedKey: contents.Packed}
	}
	err := s.writer.Create(ctx, cm)
	if apierrors.IsAlreadyExists(err) {
		return conflict(cm.Name, "it is there already")
	}
	return err
}

// patch changes our keys, labels and annotations, and no others.
func (s *Store) patch(ctx context.Context, cm *corev1.ConfigMap, contents record.Contents, at *version) error {
	data, binary := map[string]any{record.PlainKey: nil}, map[string]any{record.PackedKey: nil}
	if contents.Packed == nil {
		data[record.PlainKey] = contents.Plain
	} else {
		binary[record.PackedKey] = contents.Packed
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": at.uid, "resourceVersion": at.resourceVersion,
			"labels": contents.Labels, "annotations": contents.Annotations,
		},
		"data": data, "binaryData": binary,
	})
	if err != nil {
		return err
	}
	err = s.writer.Patch(ctx, cm, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsNotFound(err) {
		return conflict(cm.Name, "it was deleted since it was read")
	}
	return err
}

// DropOld deletes the ConfigMap that held the ledger before it moved, unless that ConfigMap changed since it was read.
// Call it once the mux doesn't name that ConfigMap any more. A ConfigMap that stays does no harm, because the mux's
// annotation names the one in force.
func (s *Store) DropOld(ctx context.Context, entry Entry) error {
	if entry.old == nil {
		return nil
	}
	mux, old := entry.ask.Mux, entry.old
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mux.Namespace, Name: old.name}}
	err := s.writer.Delete(ctx, cm, client.Preconditions{UID: &old.uid, ResourceVersion: &old.resourceVersion})
	s.forget(place{mux, old.name})
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		err = errors.New("it was changed since it was read")
	}
	return fmt.Errorf("the ledger of mux %s has moved to ConfigMap %s, and its old ConfigMap %s/%s wasn't deleted: %s. "+
		"Delete it by hand",
		// not wrapped: no caller must take it for a conflict, and write again
		mux, entry.ask.Name, mux.Namespace, old.name, err.Error())
}

// Old returns the name of the ConfigMap that DropOld deletes; empty without a move.
func (e *Entry) Old() string {
	if e.old == nil {
		return ""
	}
	return e.old.name
}

func conflict(name, why string) error {
	return apierrors.NewConflict(corev1.Resource("configmaps"), name, errors.New(why))
}
