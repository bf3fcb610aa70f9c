package ledger

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

// Read returns the ledger of a mux. An error, such as for want of rights, means that the ledger couldn't be read. It
// says nothing about the ledger itself.
func (s *Store) Read(ctx context.Context, ask Ask) (Entry, error) {
	entry, err := resolve(ask, func(name string) (*reading, error) { return s.find(ctx, &ask, name, true) })
	if err != nil || entry.Condition == plan.Missing {
		return entry, err
	}
	shown, err := s.shown(ctx, ask.Mux, entry.Name)
	entry.Unseen = shown == nil
	return entry, err
}

// Peek returns the ledger of a mux for the console. A ledger that neither the cache shows nor the store remembers
// counts as missing. Peek doesn't confirm bad news. It reads live only what the store doesn't remember in the version
// that the cache shows.
func (s *Store) Peek(ctx context.Context, ask Ask) (plan.Reading, error) {
	entry, err := resolve(ask, func(name string) (*reading, error) { return s.find(ctx, &ask, name, false) })
	return entry.Reading, err
}

// resolve reads the ConfigMaps that may hold a ledger, and returns the ledger in force: see record.InForce.
func resolve(ask Ask, find func(name string) (*reading, error)) (Entry, error) {
	var moved string
	ask.Name, moved = ask.Names()
	wanted, err := find(ask.Name)
	if err != nil {
		return Entry{}, err
	}
	var old *reading
	if moved != "" {
		if old, err = find(moved); err != nil {
			return Entry{}, err
		}
	}
	entry := Entry{Reading: record.InForce(ask, wanted.read(), old.read()), ask: ask}
	entry.Ledger = entry.Ledger.Clone()
	if wanted != nil {
		entry.at = &wanted.at
	}
	if old != nil && old.Ours && (wanted == nil || wanted.Ours) {
		entry.old = &old.at
	}
	return entry, nil
}

// find returns what a ConfigMap says; nil if there is no ConfigMap. With confirm, it believes bad news only after a
// live read.
func (s *Store) find(ctx context.Context, ask *Ask, name string, confirm bool) (*reading, error) {
	shown, err := s.shown(ctx, ask.Mux, name)
	if err != nil {
		return nil, err
	}
	known := s.recall(place{ask.Mux, name})
	switch {
	case shown == nil && known == nil && !confirm:
		return nil, nil
	case shown != nil && known != nil && known.at.notBefore(shown.ResourceVersion) && (!confirm || known.Good(ask)):
		return known, nil
	}
	return s.get(ctx, ask.Mux, name)
}

// shown returns a ConfigMap as the cache shows it; nil if the cache has none.
func (s *Store) shown(ctx context.Context, mux types.NamespacedName, name string) (*metav1.PartialObjectMetadata,
	error) {
	shown := Object()
	err := s.cache.Get(ctx, types.NamespacedName{Namespace: mux.Namespace, Name: name}, shown)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the ledger of mux %s, in the cache: %w", mux, err)
	}
	return shown, nil
}

// get reads a ConfigMap live. It returns nil if the API server has none.
func (s *Store) get(ctx context.Context, mux types.NamespacedName, name string) (*reading, error) {
	var cm corev1.ConfigMap
	key := client.ObjectKey{Namespace: mux.Namespace, Name: name}
	err := s.live.Get(ctx, key, &cm)
	if apierrors.IsNotFound(err) {
		s.forget(place{mux, name})
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the ledger of mux %s: read ConfigMap %s: %w", mux, key, err)
	}
	return s.decode(&cm, mux), nil
}
