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

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Write stores a ledger that was decided from an entry, and returns the entry for the next write. If anybody wrote in
// between, or there is a copy of as high a generation, that is a conflict (apierrors.IsConflict): read and decide again.
// Nothing but what is ours in the ConfigMap is touched.
//
// A ledger that was moved is written under its new name, then deleted under its old one. If that fails, the error is
// ErrLeftBehind, and comes with an entry all the same: the ledger is written.
func (s *Store) Write(ctx context.Context, ledger plan.Ledger, entry Entry) (Entry, error) {
	mux := entry.ask.Mux
	if err := writable(&ledger, &entry); err != nil {
		return Entry{}, err
	}
	if err := s.overtake(ctx, ledger.Generation, &entry); err != nil {
		return Entry{}, err
	}
	contents, err := Encode(ledger, s.keys)
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
		s.keep(mux, nil, func(*memory) {}) // what it was decided from isn't so any more, or may not be
		return Entry{}, fmt.Errorf("write the ledger of mux %s to ConfigMap %s: %w", mux, client.ObjectKeyFromObject(cm), err)
	}
	read := s.read(cm, entry.ask)
	s.keep(mux, read, func(*memory) {})
	written := read.entry(entry.ask)
	if entry.old == nil {
		return written, nil
	}
	err = s.drop(ctx, mux, entry.old)
	if err != nil {
		s.remember(mux, func(m *memory) { m.searched = "" })
	}
	return written, err
}

// writable keeps what freezes a mux from being overwritten, whoever asks for it.
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

// overtake has a new generation be above that of all copies: somebody may have pointed the mux to another name and back, each time
// as whoever led died between ledger and mux. Whichever the mux is pointed to next, its stamp tells which one counts. While the mux
// names this one, nobody else makes another.
func (s *Store) overtake(ctx context.Context, generation int64, entry *Entry) error {
	if generation <= entry.Ledger.Generation {
		return nil
	}
	if s.recall(entry.ask.Mux).searched != entry.ask.Name {
		if _, err := s.search(ctx, &entry.ask); err != nil {
			return err
		}
	}
	if above := s.ahead(entry); above >= generation {
		return conflict(entry.ask.Name, fmt.Sprintf("there is a copy of generation %d", above))
	}
	return nil
}

// create makes the ConfigMap. It has no owner: it must outlive a mux that is made anew.
func (s *Store) create(ctx context.Context, cm *corev1.ConfigMap, contents Contents) error {
	cm.Labels, cm.Annotations = contents.Labels, contents.Annotations
	if contents.Packed == nil {
		cm.Data = map[string]string{PlainKey: contents.Plain}
	} else {
		cm.BinaryData = map[string][]byte{PackedKey: contents.Packed}
	}
	err := s.writer.Create(ctx, cm)
	if apierrors.IsAlreadyExists(err) {
		return conflict(cm.Name, "it is there already")
	}
	return err
}

// patch changes what is ours. It is no update, because that would send back a cached object, of which a cache may have
// left out what it has no use for.
func (s *Store) patch(ctx context.Context, cm *corev1.ConfigMap, contents Contents, at *version) error {
	data, binary := map[string]any{PlainKey: nil}, map[string]any{PackedKey: nil}
	if contents.Packed == nil {
		data[PlainKey] = contents.Plain
	} else {
		binary[PackedKey] = contents.Packed
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

// drop deletes a ledger under its old name, unless it changed since it was read. That isn't told as a conflict: to
// try again wouldn't find it.
func (s *Store) drop(ctx context.Context, mux types.NamespacedName, old *version) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mux.Namespace, Name: old.name}}
	err := s.writer.Delete(ctx, cm, client.Preconditions{UID: &old.uid, ResourceVersion: &old.resourceVersion})
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		err = errors.New("it was changed since it was read")
	}
	return fmt.Errorf("the ledger of mux %s has moved, and its old ConfigMap %s/%s %w, to be deleted by hand: %s",
		mux, mux.Namespace, old.name, ErrLeftBehind, err.Error()) // which is no reason to write anything again
}

// ErrLeftBehind is of a ledger that was written under its new name, and couldn't be deleted under its old one.
var ErrLeftBehind = errors.New("is left behind")

func conflict(name, why string) error {
	return apierrors.NewConflict(corev1.Resource("configmaps"), name, errors.New(why))
}
