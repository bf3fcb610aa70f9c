package ledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Read returns the ledger of a mux. An error says that it couldn't be read, for want of rights for instance; nothing
// follows from that about the ledger.
func (s *Store) Read(ctx context.Context, ask Ask) (Entry, error) {
	before := s.recall(ask.Mux).latest
	named, err := s.readNamed(ctx, ask)
	named.Above = s.ahead(&named)
	if err != nil || !doubtful(&named) {
		return named, err
	}
	entry, err := s.elsewhere(ctx, named, before)
	entry.Above = s.ahead(&entry)
	if err != nil && before != nil {
		s.keep(ask.Mux, before, func(*memory) {})
	}
	return entry, err
}

// doubtful is true for a ledger beside which there may be a newer one: it isn't there, is older than the mux's stamp, or the mux
// has none. One that is what the stamp says is never doubted: whoever may make ConfigMaps could give the mux another one.
func doubtful(named *Entry) bool {
	return named.Condition == plan.Missing || readable(named) && (named.ask.Stamp == 0 || named.Ledger.Generation < named.ask.Stamp)
}

// readNamed reads the ledger under the name that its mux gives it.
func (s *Store) readNamed(ctx context.Context, ask Ask) (Entry, error) {
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
		s.keep(ask.Mux, nil, func(m *memory) { m.confirmed = confirmation{} })
		return Entry{Reading: plan.Reading{Condition: plan.Missing, Name: ask.Name}, ask: ask}, nil
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
	return readable(entry) && ledger.Generation >= entry.ask.Stamp && (len(ledger.Claims) > 0 || !entry.ask.PortsLive)
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

// elsewhere looks for a ledger under another name: the mux has just been given a new one; or it is pointed back to one that it
// had before, and that was left behind with what was known then. There may be several: copies that people keep. One that is
// older than the mux's stamp isn't taken, so that a ledger which is deleted to be rebuilt isn't brought back from what was
// left behind when it was moved.
func (s *Store) elsewhere(ctx context.Context, named Entry, before *reading) (Entry, error) {
	best, ask := named, named.ask
	names, err := s.others(ctx, &named, before)
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
		read := s.read(cm, ask)
		if entry := read.entry(ask); better(&entry, &best) {
			best = entry
			best.Moved, best.at, best.old = true, named.at, entry.at
			s.keep(ask.Mux, read, func(*memory) {}) // until it is written, or if that fails
		}
	}
	return best, nil
}

func readable(entry *Entry) bool {
	return entry.Condition == plan.Good || entry.Condition == plan.Edited
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
		return !readable(than) || entry.Ledger.Generation > than.Ledger.Generation
	case plan.Unreadable, plan.Newer:
		return than.Condition == plan.Missing
	case plan.Missing, plan.Foreign:
	}
	return false
}

// mostOthers is how many ConfigMaps are looked at in search of a ledger, and mostListed how many are asked for by name: whoever
// may make them could make thousands.
const mostOthers, mostListed = 8, 100

// others are the names of other ConfigMaps that are annotated as the mux's ledger, the newest first, by what they say. Where there
// is one under the right name, they are those that are newer. What was read before, the cache may not know yet; and before a
// ledger is begun anew, it isn't believed either that there is no other.
func (s *Store) others(ctx context.Context, named *Entry, before *reading) ([]string, error) {
	mux := named.ask.Mux
	list, err := listMetadata(ctx, s.cache, mux, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("the ledger of mux %s: list ConfigMaps in the cache: %w", mux, err)
	}
	if named.Condition == plan.Missing {
		live, err := s.search(ctx, &named.ask)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(live, func(of metav1.PartialObjectMetadata) bool { return of.Name == named.ask.Name }) {
			return nil, conflict(named.ask.Name, "it has just come")
		}
		list = append(slices.Clip(list), live...)
	}
	newer := map[string]int64{}
	add := func(name string, generation int64) {
		if name != named.ask.Name && (named.Condition == plan.Missing || generation > named.Ledger.Generation) {
			newer[name] = max(newer[name], generation)
		}
	}
	if before != nil {
		add(before.at.name, before.Ledger.Generation)
	}
	for i := range list {
		if of := list[i].Annotations; of[s.keys.Mux] == mux.String() {
			generation, _ := validation.ParseGeneration(of[s.keys.Generation])
			add(list[i].Name, generation)
		}
	}
	names := slices.SortedFunc(maps.Keys(newer), func(a, b string) int {
		return cmp.Or(cmp.Compare(newer[b], newer[a]), cmp.Compare(a, b))
	})
	return names[:min(len(names), mostOthers)], nil
}

// search asks the API server for ConfigMaps of ours where a mux is, and remembers how new those are that say they are the mux's.
func (s *Store) search(ctx context.Context, ask *Ask) ([]metav1.PartialObjectMetadata, error) {
	list, err := listMetadata(ctx, s.live, ask.Mux, client.Limit(mostListed))
	if err != nil {
		return nil, fmt.Errorf("the ledger of mux %s: list ConfigMaps: %w", ask.Mux, err)
	}
	known, err := listMetadata(ctx, s.cache, ask.Mux, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("the ledger of mux %s: list ConfigMaps in the cache: %w", ask.Mux, err)
	}
	above := max(s.above(list, ask), s.above(known, ask)) // what is listed live ends somewhere
	s.remember(ask.Mux, func(m *memory) { m.searched, m.above = ask.Name, above })
	return list, nil
}

// above is the highest generation of those that say they are the mux's, under other names.
func (s *Store) above(list []metav1.PartialObjectMetadata, ask *Ask) (above int64) {
	for i := range list {
		if of := list[i].Annotations; list[i].Name != ask.Name && of[s.keys.Mux] == ask.Mux.String() {
			generation, _ := validation.ParseGeneration(of[s.keys.Generation])
			above = max(above, generation)
		}
	}
	return above
}

// ahead is the highest generation of copies that were found, if it isn't beyond belief.
func (s *Store) ahead(entry *Entry) int64 {
	above := s.recall(entry.ask.Mux).above
	if above-max(entry.Ledger.Generation, entry.ask.Stamp) > plan.MostAhead {
		return 0
	}
	return above
}

// listMetadata is what ConfigMaps of ours are called where a mux is, and what they say of themselves.
func listMetadata(ctx context.Context, from client.Reader, mux types.NamespacedName, how client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	list := objects()
	err := from.List(ctx, list, client.InNamespace(mux.Namespace), client.MatchingLabelsSelector{Selector: Selector()}, how)
	return list.Items, err
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
