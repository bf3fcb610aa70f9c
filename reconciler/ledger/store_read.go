package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Read returns the ledger of a mux. An error says that it couldn't be read, for want of rights for instance; nothing
// follows from that about the ledger.
func (s *Store) Read(ctx context.Context, ask Ask) (Entry, error) {
	shown, err := s.shown(ctx, ask)
	if err != nil {
		return Entry{}, err
	}
	if known := s.known(ask, shown); known != nil {
		entry := known.entry(ask)
		if believable(&entry) || s.recall(ask.Mux).confirmed == confirmationOf(&entry) {
			return entry, nil
		}
	}
	cm, err := get(ctx, s.live, key(ask.Mux, ask.Name))
	if err != nil {
		return Entry{}, fmt.Errorf("the ledger of mux %s: %w", ask.Mux, err)
	}
	if cm == nil {
		return s.elsewhere(ctx, ask)
	}
	read := s.read(cm, ask)
	entry := read.entry(ask)
	s.keep(ask.Mux, read, func(m *memory) { m.confirmed = confirmationOf(&entry) })
	entry.Unseen = shown == nil
	return entry, nil
}

// believable is true for good news.
func believable(entry *Entry) bool {
	ledger := &entry.Ledger
	return (entry.Condition == plan.Good || entry.Condition == plan.Edited) &&
		ledger.Generation >= entry.ask.Stamp && (len(ledger.Claims) > 0 || !entry.ask.PortsLive)
}

func confirmationOf(entry *Entry) confirmation {
	return confirmation{*entry.at, entry.ask.Stamp, entry.ask.PortsLive}
}

// known is the newest ledger that can be had without a request, of one that the cache shows; nil if a request must tell.
func (s *Store) known(ask Ask, shown *metav1.PartialObjectMetadata) *reading {
	latest := s.recall(ask.Mux).latest
	if shown == nil || latest == nil || latest.at.name != ask.Name || !latest.covers(shown) {
		return nil // if only the cache doesn't know it, it is new, or gone
	}
	return latest
}

// shown is what the cache shows of a ledger; nil if nothing.
func (s *Store) shown(ctx context.Context, ask Ask) (*metav1.PartialObjectMetadata, error) {
	shown := Object()
	err := s.cache.Get(ctx, key(ask.Mux, ask.Name), shown)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the ledger of mux %s, in the cache: %w", ask.Mux, err)
	}
	return shown, nil
}

// elsewhere looks for a ledger under another name, where the mux has just been given a new one. There may be several:
// copies that people keep. One that is older than the mux's stamp isn't taken, so that a ledger which is deleted to be
// rebuilt isn't brought back from what was left behind when it was moved.
func (s *Store) elsewhere(ctx context.Context, ask Ask) (Entry, error) {
	best := Entry{Reading: plan.Reading{Condition: plan.Missing, Name: ask.Name}, ask: ask}
	names, err := s.others(ctx, ask)
	if err != nil {
		return Entry{}, err
	}
	for _, name := range names {
		cm, err := get(ctx, s.live, key(ask.Mux, name))
		if err != nil {
			return Entry{}, fmt.Errorf("the ledger of mux %s, under its former name: %w", ask.Mux, err)
		}
		if cm == nil {
			continue
		}
		if entry := s.read(cm, ask).entry(ask); better(&entry, &best) {
			best = entry
			best.Moved, best.at, best.old = true, nil, entry.at
		}
	}
	s.keep(ask.Mux, nil, func(m *memory) { m.confirmed = confirmation{} })
	return best, nil
}

// better is true for a ledger that counts for more than what was found before: one that can be gone by, of a higher
// generation. One of ours that can't be read still counts for more than none: to rebuild is to forget what only the
// ledger knows, and whoever wants that deletes it.
func better(entry, than *Entry) bool {
	switch entry.Condition {
	case plan.Good, plan.Edited:
		if entry.Ledger.Generation < entry.ask.Stamp {
			return false
		}
		readable := than.Condition == plan.Good || than.Condition == plan.Edited
		return !readable || entry.Ledger.Generation > than.Ledger.Generation
	case plan.Unreadable, plan.Newer:
		return than.Condition == plan.Missing
	case plan.Missing, plan.Foreign:
	}
	return false
}

// others are the names of other ConfigMaps that are annotated as the mux's ledger, sorted.
func (s *Store) others(ctx context.Context, ask Ask) ([]string, error) {
	list := objects()
	err := s.cache.List(ctx, list, client.InNamespace(ask.Mux.Namespace), client.MatchingLabelsSelector{Selector: Selector()})
	if err != nil {
		return nil, fmt.Errorf("the ledger of mux %s: list ConfigMaps in the cache: %w", ask.Mux, err)
	}
	var names []string
	if latest := s.recall(ask.Mux).latest; latest != nil {
		names = append(names, latest.at.name) // which the cache may not know yet
	}
	for i := range list.Items {
		if list.Items[i].Annotations[s.keys.Mux] == ask.Mux.String() {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool { return name == ask.Name }), nil
}

func key(mux types.NamespacedName, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: mux.Namespace, Name: name}
}

// get returns nil if there is no such ConfigMap.
func get(ctx context.Context, from client.Reader, key types.NamespacedName) (*corev1.ConfigMap, error) {
	var cm corev1.ConfigMap
	err := from.Get(ctx, key, &cm)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s: %w", key, err)
	}
	return &cm, nil
}
