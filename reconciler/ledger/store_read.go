package ledger

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Read returns the ledger of a mux. An error means that it couldn't be read, such as for want of rights: it says nothing about the
// ledger.
func (s *Store) Read(ctx context.Context, ask Ask) (Entry, error) {
	entry, err := resolve(ask, func(name string) (*reading, error) { return s.find(ctx, &ask, name, true) })
	if err != nil || entry.Condition == plan.Missing {
		return entry, err
	}
	shown, err := s.shown(ctx, ask.Mux, entry.Name)
	entry.Unseen = shown == nil
	return entry, err
}

// Peek returns the ledger of a mux for the console. It takes a ledger that the cache doesn't show for missing, and doesn't confirm bad
// news. It reads a version live only if nobody has read it yet.
func (s *Store) Peek(ctx context.Context, ask Ask) (plan.Reading, error) {
	entry, err := resolve(ask, func(name string) (*reading, error) { return s.find(ctx, &ask, name, false) })
	return entry.Reading, err
}

// resolve returns the ledger in force. It is the ConfigMap that the mux's annotation names, if that is the mux's, else the one that
// the mux's owner wants. If these are two, the ledger moves, and each step may be the last before a crash:
//
//	                     InForce        Name              the ledger is
//	the owner renames    generation 7   nothing, or old   InForce, Moved: the plan reserves generation 8 under Name
//	Name is written      generation 7   generation 8      Name: the plan publishes generation 8 and the name
//	the mux is switched                 generation 8      Name; DropOld deletes the ConfigMap that was InForce
//
// In the second state another process may be about to publish Name's claims, so they must not be overwritten. So Name counts if its
// generation is past the mux's stamp and it has all claims of InForce; a leftover of an earlier move isn't, or hasn't.
func resolve(ask Ask, find func(name string) (*reading, error)) (Entry, error) {
	if ask.Name == "" {
		ask.Name = ask.InForce // the name that the owner wants can't be read
	}
	wanted, err := find(ask.Name)
	if err != nil {
		return Entry{}, err
	}
	var old *reading
	if ask.InForce != "" && ask.InForce != ask.Name {
		if old, err = find(ask.InForce); err != nil {
			return Entry{}, err
		}
	}
	switch {
	case wanted != nil && (old == nil || !old.ours || !wanted.ours):
		return wanted.entry(ask), nil
	case old == nil || !old.ours:
		return Entry{Reading: plan.Reading{Condition: plan.Missing, Name: ask.Name}, ask: ask}, nil
	}
	entry := old.entry(ask)
	entry.Moved, entry.at = true, nil
	switch {
	case wanted != nil && wanted.Ledger.Generation > ask.Stamp && wanted.continues(old):
		entry = wanted.entry(ask)
	case wanted != nil:
		entry.at = &wanted.at
	}
	entry.old = &old.at
	return entry, nil
}

// continues is true if no number that old gives to a channel is free, or another channel's.
func (r *reading) continues(old *reading) bool {
	if !r.readable() || !old.readable() || r.Ledger.Generation < old.Ledger.Generation {
		return false
	}
	owners := make(map[plan.Slot]types.NamespacedName, len(r.Ledger.Claims))
	for i := range r.Ledger.Claims {
		owners[r.Ledger.Claims[i].Slot()] = r.Ledger.Claims[i].Owner.Channel
	}
	return !slices.ContainsFunc(old.Ledger.Claims, func(c plan.Claim) bool {
		return c.State == plan.Held && owners[c.Slot()] != c.Owner.Channel
	})
}

// find returns what a ConfigMap says; nil without a ConfigMap. With confirm, it believes bad news only after a live read.
func (s *Store) find(ctx context.Context, ask *Ask, name string, confirm bool) (*reading, error) {
	shown, err := s.shown(ctx, ask.Mux, name)
	if err != nil {
		return nil, err
	}
	known := s.recall(place{ask.Mux, name})
	switch {
	case shown == nil && known == nil && !confirm:
		return nil, nil
	case shown != nil && known != nil && known.at.notBefore(shown.ResourceVersion) && (!confirm || known.good(ask)):
		return known, nil
	}
	return s.get(ctx, ask.Mux, name)
}

// shown returns what the cache shows of a ConfigMap; nil if nothing.
func (s *Store) shown(ctx context.Context, mux types.NamespacedName, name string) (*metav1.PartialObjectMetadata, error) {
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
