package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

func TestALedgerIsReadOncePerVersion(t *testing.T) {
	w := newStoreWorld(t)
	missing := w.read(asks(0), "GET new-name")
	w.expect(missing.Reading, plan.Missing, newName, 0, 0)
	if missing.Unseen {
		t.Error("a ledger that doesn't exist is called unseen")
	}
	entry := w.write(missing, one(1, 80), "POST new-name")
	if !w.read(asks(1), "GET new-name").Unseen {
		t.Error("the cache doesn't show it, and nobody is told")
	}
	entry = w.write(entry, one(2, 81), "PATCH new-name")
	w.catchUp()
	for range 3 {
		seen := w.read(asks(2), "")
		if w.expect(seen.Reading, plan.Good, newName, 2, 81); seen.Unseen {
			t.Error("it is called unseen")
		}
	}
	w.write(entry, one(2, 82), "PATCH new-name") // the cache is stale
	w.expect(w.read(asks(2), "").Reading, plan.Good, newName, 2, 82)
	w.edit(newName, func(cm *corev1.ConfigMap) { cm.Labels["team"] = "edge" })
	w.catchUp()
	w.expect(w.read(asks(2), "GET new-name").Reading, plan.Good, newName, 2, 82)
	w.expect(w.read(asks(2), "").Reading, plan.Good, newName, 2, 82)
}

func TestAReadingIsTheCallers(t *testing.T) {
	w := newStoreWorld(t)
	w.put(newName, one(1, 80))
	w.catchUp()
	w.read(asks(1), "GET new-name").Ledger.Claims[0].Public = 9
	w.expect(w.read(asks(1), "").Reading, plan.Good, newName, 1, 80)
}

func TestBadNewsIsReadLive(t *testing.T) {
	for name, test := range map[string]struct {
		before    plan.Ledger
		edit      func(*corev1.ConfigMap)
		ask       Ask
		condition plan.LedgerState
		bad       bool
	}{
		"good":             {one(1, 80), nil, asks(1), plan.Good, false},
		"newer than stamp": {one(2, 80), nil, asks(1), plan.Good, false},
		"older than stamp": {one(1, 80), nil, asks(2), plan.Good, true},
		"broken": {one(1, 80), func(cm *corev1.ConfigMap) { cm.Data[record.PlainKey] = "{" }, asks(1),
			plan.Unreadable, true},
		"edited": {one(1, 80), func(cm *corev1.ConfigMap) {
			cm.Data[record.PlainKey] = strings.Replace(cm.Data[record.PlainKey], "80", "81", 1)
		}, asks(1), plan.Edited, false},
		"foreign": {one(1, 80), func(cm *corev1.ConfigMap) { cm.Annotations[keys.Mux] = "svc-mux/other" }, asks(0),
			plan.Foreign, true},
		"no claims": {plan.Ledger{Mux: mux, Generation: 1}, nil, asks(1), plan.Good, false},
		"no claims, but ports": {plan.Ledger{Mux: mux, Generation: 1}, nil,
			Ask{Mux: mux, Name: newName, InForce: newName, Stamp: 1, PortsLive: true}, plan.Good, true},
		"claims and ports": {one(1, 80), nil, Ask{Mux: mux, Name: newName, InForce: newName, Stamp: 1, PortsLive: true},
			plan.Good, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStoreWorld(t)
			w.put(newName, test.before)
			if test.edit != nil {
				w.edit(newName, test.edit)
			}
			w.catchUp()
			if got := w.read(test.ask, "GET new-name"); got.Condition != test.condition {
				t.Errorf("it is read as %d: %s", got.Condition, got.Why)
			}
			sent := ""
			if test.bad {
				sent = "GET new-name"
			}
			w.read(test.ask, sent)
		})
	}
}

// TestADeletedLedgerIsMissingAfterALiveRead: the remembered ledger no longer counts.
func TestADeletedLedgerIsMissingAfterALiveRead(t *testing.T) {
	w := newStoreWorld(t)
	w.put(newName, one(1, 80))
	w.catchUp()
	w.read(asks(1), "GET new-name")
	w.remove()
	w.expect(w.read(asks(1), "").Reading, plan.Good, newName, 1, 80) // the cache is stale
	w.catchUp()
	w.expect(w.read(asks(1), "GET new-name").Reading, plan.Missing, newName, 0, 0)
	if w.store.recall(place{mux, newName}) != nil {
		t.Error("it is remembered")
	}
}

func TestAnErrorIsNoNews(t *testing.T) {
	w := newStoreWorld(t)
	w.put(oldName, one(1, 80))
	for verb, err := range map[string]error{
		"GET": apierrors.NewForbidden(corev1.Resource("configmaps"), newName, errors.New("no"))} {
		w.refuse[verb] = err
		if _, got := w.store.Read(t.Context(), moves(1)); !apierrors.IsForbidden(got) ||
			!strings.Contains(got.Error(), "svc-mux/mux") {
			t.Errorf("%s: %v", verb, got)
		}
	}
	w.cache.err = errors.New("not started")
	if _, err := w.store.Read(t.Context(), asks(1)); err == nil || !strings.Contains(err.Error(), "not started") {
		t.Errorf("the cache fails, and the error is %v", err)
	}
	if _, err := w.store.Peek(t.Context(), asks(1)); err == nil || !strings.Contains(err.Error(), "not started") {
		t.Errorf("the cache fails, and the error is %v", err)
	}
}

// TestTheSecondReadFails: the wanted ConfigMap doesn't exist, and the one in force can't be read.
func TestTheSecondReadFails(t *testing.T) {
	w := newStoreWorld(t)
	w.put(newName, one(1, 80))
	w.catchUp()
	w.read(asks(1), "GET new-name")
	w.refuse["GET"] = apierrors.NewForbidden(corev1.Resource("configmaps"), oldName, errors.New("no"))
	if _, err := w.store.Read(t.Context(), moves(1)); !apierrors.IsForbidden(err) {
		t.Errorf("the error is %v", err)
	}
}

func TestForgetDropsOneMux(t *testing.T) {
	w := newStoreWorld(t)
	w.put(newName, one(1, 80))
	w.catchUp()
	other := asks(0)
	other.Mux.Name = "other"
	w.read(asks(1), "GET new-name")
	w.read(other, "GET new-name")
	w.store.Forget(mux)
	if w.store.recall(place{mux, newName}) != nil || w.store.recall(place{other.Mux, newName}) == nil {
		t.Error("not the one mux is forgotten")
	}
	w.read(asks(1), "GET new-name")
}

// TestAnOlderReadDoesNotReplaceANewerOne: the console may send a read before a pass writes, and get the answer after
// the write.
func TestAnOlderReadDoesNotReplaceANewerOne(t *testing.T) {
	w := newStoreWorld(t)
	w.put(newName, one(1, 80))
	before := w.live(newName)
	w.catchUp()
	w.write(w.read(asks(1), "GET new-name"), one(2, 81), "PATCH new-name")
	w.store.decode(before, mux)
	w.expect(w.store.recall(place{mux, newName}).Reading, plan.Good, newName, 2, 81)
	if known := w.store.recall(place{mux, newName}); w.store.decode(w.live(newName), mux) != known {
		t.Error("a known version is decoded again")
	}
	if (version{resourceVersion: "x"}).notBefore("7") || !(version{resourceVersion: "7"}).notBefore("7") ||
		(version{resourceVersion: "6"}).notBefore("7") {
		t.Error("versions are compared wrongly")
	}
}

func TestWritesConflictWithOthers(t *testing.T) {
	w := newStoreWorld(t)
	missing := w.read(asks(0), "GET new-name")
	first := w.write(missing, one(1, 80), "POST new-name")
	again := func(what string, entry Entry) {
		t.Helper()
		before := w.live(newName)
		if _, err := w.store.Write(t.Context(), one(9, 99), entry); !apierrors.IsConflict(err) ||
			!strings.Contains(err.Error(), "svc-mux/new-name") {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(before, w.live(newName)); diff != "" {
			t.Errorf("%s: it is written:\n%s", what, diff)
		}
		if w.store.recall(place{mux, newName}) != nil {
			t.Errorf("%s: what may be outdated is remembered", what)
		}
		w.sent = nil
	}
	again("it is there already", missing)
	second := w.write(first, one(2, 81), "PATCH new-name")
	again("it was written since", first)
	w.edit(newName, func(cm *corev1.ConfigMap) { cm.Labels["team"] = "edge" })
	again("somebody labelled it since", second)
	w.remove()
	again("it was deleted since", second)
}

func TestWhatFreezesIsNotOverwritten(t *testing.T) {
	w := newStoreWorld(t)
	for condition, may := range map[plan.LedgerState]bool{plan.Good: true, plan.Edited: true, plan.Missing: true,
		plan.Unreadable: false,
		plan.Foreign:    false, plan.Newer: false} {
		entry := Entry{Reading: plan.Reading{Condition: condition, Why: "it is so"}, ask: asks(0)}
		_, err := w.store.Write(t.Context(), one(1, 80), entry)
		if (err == nil) != may || err != nil && !strings.Contains(err.Error(), "it is so") {
			t.Errorf("%d: %v", condition, err)
		}
		if live := w.live(newName); (live != nil) != may {
			t.Errorf("%d: there is %v", condition, live)
		} else if may {
			w.remove()
		}
	}
	other := one(1, 80)
	other.Mux.Name = "other"
	if _, err := w.store.Write(t.Context(), other, Entry{ask: asks(0)}); err == nil ||
		!strings.Contains(err.Error(), "svc-mux/other") {
		t.Errorf("another mux's ledger: %v", err)
	}
	if _, err := w.store.Write(t.Context(), plan.Ledger{Mux: mux, Generation: -1}, Entry{ask: asks(0)}); !errors.Is(err,
		record.ErrUnwritable) {
		t.Errorf("a ledger that can't be read again: %v", err)
	}
}

func TestOthersKeysStay(t *testing.T) {
	w := newStoreWorld(t)
	w.put(newName, one(1, 80))
	w.edit(newName, func(cm *corev1.ConfigMap) {
		cm.Labels["team"], cm.Annotations["example.com/note"], cm.Data["README"] = "edge", "hands off", "ask the edge team"
		cm.BinaryData = map[string][]byte{"logo": {1, 2, 3}, record.PackedKey: mustPack(t, "{}")}
		delete(cm.Labels, nameLabel)
	})
	w.catchUp()
	before := w.live(newName)
	w.write(w.read(asks(1), "GET new-name"), one(2, 81), "PATCH new-name")
	after := w.live(newName)
	if after.Labels[nameLabel] != nameValue || after.Annotations[keys.Generation] != "2" ||
		after.BinaryData[record.PackedKey] != nil {
		t.Errorf("its labels are %v, its annotations %v", after.Labels, after.Annotations)
	}
	for _, cm := range []*corev1.ConfigMap{before, after} {
		delete(cm.Data, record.PlainKey)
		delete(cm.BinaryData, record.PackedKey)
		delete(cm.Labels, nameLabel)
		delete(cm.Annotations, keys.Generation)
		cm.ResourceVersion = ""
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

func TestALargeLedgerIsPacked(t *testing.T) {
	w := newStoreWorld(t)
	big := plan.Ledger{Mux: mux, Generation: 1, Claims: claims(3000)}
	entry := w.write(w.read(asks(0), "GET new-name"), big, "POST new-name")
	if cm := w.live(newName); len(cm.Data) > 0 || len(cm.BinaryData[record.PackedKey]) == 0 {
		t.Errorf("it has %d keys of text", len(cm.Data))
	}
	w.catchUp()
	w.store.Forget(mux)
	if diff := cmp.Diff(big, w.read(asks(1), "GET new-name").Ledger); diff != "" {
		t.Error(diff)
	}
	entry = w.write(entry, one(2, 80), "PATCH new-name")
	if cm := w.live(newName); cm.Data[record.PlainKey] == "" || len(cm.BinaryData) > 0 {
		t.Errorf("it has %d keys of bytes", len(cm.BinaryData))
	}
	w.write(entry, plan.Ledger{Mux: mux, Generation: 3, Claims: big.Claims}, "PATCH new-name")
	if cm := w.live(newName); cm.Data[record.PlainKey] != "" || len(cm.BinaryData) == 0 {
		t.Errorf("it has %d keys of text", len(cm.Data))
	}
}

func TestOwnerlessLedgersOutliveTheirMux(t *testing.T) {
	w := newStoreWorld(t)
	w.write(w.read(asks(0), "GET new-name"), one(1, 80), "POST new-name")
	if owners := w.live(newName).OwnerReferences; len(owners) > 0 {
		t.Errorf("it belongs to %v", owners)
	}
}

func TestPeekReadsWhatIsNewOnce(t *testing.T) {
	w := newStoreWorld(t)
	peek := func(ask Ask, sent string) plan.Reading {
		t.Helper()
		reading, err := w.store.Peek(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		w.requests(sent)
		return reading
	}
	w.expect(peek(asks(0), ""), plan.Missing, newName, 0, 0)
	w.put(newName, one(1, 80))
	w.expect(peek(asks(2), ""), plan.Missing, newName, 0, 0) // the cache doesn't show it
	w.catchUp()
	w.expect(peek(asks(2), "GET new-name"), plan.Good, newName, 1, 80)
	w.expect(peek(asks(2), ""), plan.Good, newName, 1, 80) // Peek doesn't confirm bad news
	w.edit(newName, func(cm *corev1.ConfigMap) { cm.Labels["team"] = "edge" })
	w.expect(peek(asks(2), ""), plan.Good, newName, 1, 80)
	w.catchUp()
	w.expect(peek(asks(2), "GET new-name"), plan.Good, newName, 1, 80)
	w.remove()
	w.catchUp()
	w.expect(peek(asks(2), "GET new-name"), plan.Missing, newName, 0, 0)
	w.expect(peek(asks(2), ""), plan.Missing, newName, 0, 0)
	w.put(oldName, one(1, 80))
	w.catchUp()
	if got := peek(moves(1), "GET old-name"); !got.Moved {
		t.Errorf("%s isn't moved", got.Name)
	}
}
