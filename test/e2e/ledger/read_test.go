package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

func quiet(t *testing.T, w *world) {
	w.expect(w.read(w.ask(), "GET"), plan.Missing, 0, 0)
	entry := w.write(w.read(w.ask(), "GET"), 1, 80, "POST")
	entry = w.write(entry, 2, 81, "PATCH")
	w.write(entry, 2, 82, "PATCH")
	w.catchUp()
	ask := w.ask()
	ask.Stamp, ask.PortsLive = 2, true
	for range 20 {
		w.expect(w.read(ask, ""), plan.Good, 2, 82)
	}
	if owners := w.live(ledgerName).OwnerReferences; len(owners) > 0 {
		t.Errorf("the ledger has the owners %v, and would be garbage-collected with them", owners)
	}
}

func neighbours(t *testing.T, w *world) {
	w.established()
	w.edit(func(cm *corev1.ConfigMap) {
		cm.Labels["team"], cm.Annotations["example.com/note"], cm.Data["README"] = "edge", "hands off", "ask the edge team"
		cm.BinaryData = map[string][]byte{"logo": {1, 2, 3}}
		cm.Finalizers = []string{"example.com/keep"}
	})
	w.catchUp()
	before := w.live(ledgerName)
	w.write(w.read(w.ask(), "GET"), 2, 81, "PATCH")
	after := w.live(ledgerName)
	for _, cm := range []*corev1.ConfigMap{before, after} {
		delete(cm.Data, record.PlainKey)
		delete(cm.Annotations, w.keys.Generation)
		cm.ResourceVersion, cm.ManagedFields = "", nil
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	w.edit(func(cm *corev1.ConfigMap) { cm.Finalizers = nil })
}

func large(t *testing.T, w *world) {
	small := w.claims(1, 80)
	entry := w.write(w.read(w.ask(), "GET"), 1, 80, "POST")
	big := plan.Ledger{Mux: w.mux, Generation: 2}
	for i := range 10_000 {
		claim := small.Claims[0]
		claim.Owner.Channel.Name, claim.Public = fmt.Sprintf("service-%05d", i), int32(1+i)
		claim.MuxName, claim.Source = fmt.Sprintf("%020x", i*i*i), plan.Auto
		big.Claims = append(big.Claims, claim)
	}
	entry, err := w.store.Write(t.Context(), big, entry)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(big, entry.Ledger); diff != "" {
		t.Error(diff)
	}
	w.keysOf(record.PackedKey)
	small.Generation = 3
	if _, err = w.store.Write(t.Context(), small, entry); err != nil {
		t.Fatal(err)
	}
	w.keysOf(record.PlainKey)
}

// keysOf checks which keys the ledger has.
func (w *world) keysOf(want ...string) {
	w.Helper()
	cm := w.live(ledgerName)
	var got []string
	for key := range maps.Keys(cm.Data) {
		got = append(got, key)
	}
	for key := range maps.Keys(cm.BinaryData) {
		got = append(got, key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Error(diff)
	}
}

func readYourWrites(_ *testing.T, w *world) {
	entry := w.established()
	w.write(entry, 2, 81, "PATCH")
	w.expect(w.read(w.ask(), ""), plan.Good, 2, 81) // although the cache has generation 1
	w.catchUp()
	w.expect(w.read(w.ask(), ""), plan.Good, 2, 81)
	w.somebodyElseWrites(3, 82)
	w.catchUp()
	w.expect(w.read(w.ask(), "GET"), plan.Good, 3, 82) // the store's own write no longer counts
	w.somebodyElseWrites(4, 83)
	w.expect(w.read(w.ask(), ""), plan.Good, 3, 82) // no live read: nothing contradicts
}

// somebodyElseWrites writes a ledger as another process of ours.
func (w *world) somebodyElseWrites(generation int64, public int32) {
	w.Helper()
	ask := w.ask()
	ask.Stamp = 1 << 60
	store := w.another(&requests{}, "")
	entry, err := store.Read(w.Context(), ask)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := store.Write(w.Context(), w.claims(generation, public), entry); err != nil {
		w.Fatal(err)
	}
}

func stamped(_ *testing.T, w *world) {
	w.established()
	w.somebodyElseWrites(2, 81)
	ask := w.ask()
	ask.Stamp = 2
	w.expect(w.read(ask, "GET"), plan.Good, 2, 81)
	w.expect(w.read(ask, ""), plan.Good, 2, 81) // a live read is remembered like a write
	ask.Stamp = 3
	w.expect(w.read(ask, "GET"), plan.Good, 2, 81) // the ledger is behind the stamp: a backup was restored
	w.expect(w.read(ask, "GET"), plan.Good, 2, 81)
}

func unlabelled(t *testing.T, w *world) {
	w.established()
	w.edit(func(cm *corev1.ConfigMap) { delete(cm.Labels, "app.kubernetes.io/name") })
	w.catchUp()
	entry := w.read(w.ask(), "GET")
	w.expect(entry, plan.Good, 1, 80)
	if !entry.Unlabelled {
		t.Error("the missing label isn't noticed")
	}
	w.write(entry, 2, 80, "PATCH")
	w.catchUp()
	if entry = w.read(w.ask(), ""); entry.Unlabelled {
		t.Error("the label is still missing")
	}
	w.expect(entry, plan.Good, 2, 80)
	if got := w.live(ledgerName).Labels["app.kubernetes.io/name"]; got != "svc-lb-mux" {
		t.Errorf("the label is %q", got)
	}
}

func mended(_ *testing.T, w *world) {
	w.established()
	good := w.live(ledgerName).Data[record.PlainKey]
	w.edit(func(cm *corev1.ConfigMap) { cm.Data[record.PlainKey] = "{" })
	w.catchUp()
	w.edit(func(cm *corev1.ConfigMap) { cm.Data[record.PlainKey] = good })
	w.expect(w.read(w.ask(), "GET"), plan.Good, 1, 80)
	w.expect(w.read(w.ask(), ""), plan.Good, 1, 80)
}

func confirmed(t *testing.T, w *world) {
	for text, condition := range map[string]plan.LedgerState{"{": plan.Unreadable, `{"schemaVersion":3}`: plan.Newer} {
		w.store.Forget(w.mux)
		if w.live(ledgerName) != nil {
			w.remove()
			w.catchUp()
		}
		w.established()
		w.edit(func(cm *corev1.ConfigMap) { cm.Data[record.PlainKey] = text })
		w.catchUp()
		entry := w.read(w.ask(), "GET")
		w.expect(entry, condition, 0, 0)
		w.expect(w.read(w.ask(), "GET"), condition, 0, 0)
		if _, err := w.store.Write(t.Context(), w.claims(2, 80), entry); err == nil || w.count.since() != "" {
			t.Errorf("%s is overwritten: %v", text, err)
		}
	}
}

func emptied(_ *testing.T, w *world) {
	w.established()
	w.edit(func(cm *corev1.ConfigMap) { cm.Data = nil })
	w.catchUp()
	w.expect(w.read(w.ask(), "GET"), plan.Edited, 1, 0)
	w.expect(w.read(w.ask(), ""), plan.Edited, 1, 0) // the mux doesn't contradict it
	ask := w.ask()
	ask.PortsLive = true
	w.expect(w.read(ask, "GET"), plan.Edited, 1, 0)
	w.expect(w.read(ask, "GET"), plan.Edited, 1, 0)
	w.somebodyElseWrites(2, 81)
	ask.Stamp = 2
	w.expect(w.read(ask, "GET"), plan.Good, 2, 81)
}

func deleted(_ *testing.T, w *world) {
	entry := w.established()
	w.write(entry, 2, 81, "PATCH")
	w.remove()
	w.expect(w.read(w.ask(), ""), plan.Good, 2, 81) // the cache is stale
	w.catchUp()
	entry = w.read(w.ask(), "GET")
	w.expect(entry, plan.Missing, 0, 0)
	w.write(entry, 3, 82, "POST")
}

func forbidden(t *testing.T, w *world) {
	w.established()
	ask := w.ask()
	ask.Name = "another" // a name that isn't in the cache, either
	for what, ask := range map[string]ledger.Ask{
		"not in the cache": ask,
		"stamped higher":   {Mux: w.mux, Name: ledgerName, Stamp: 2},
		"nowhere at all":   {Mux: types.NamespacedName{Namespace: "kube-public", Name: "mux"}, Name: ledgerName},
	} {
		entry, err := w.another(&requests{}, "nobody").Read(t.Context(), ask)
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: the ledger is read as %d, %v", what, entry.Condition, err)
		}
	}
}

// peeked reads without intent to write: beside the store that reads and writes, or in a standby process.
func peeked(t *testing.T, w *world) {
	peek := func(store *ledger.Store, count *requests, sent string, condition plan.LedgerState, public int32) {
		t.Helper()
		reading, err := store.Peek(t.Context(), w.ask())
		if got := count.since(); err != nil || got != sent {
			t.Errorf("peeking sent %q, want %q: %v", got, sent, err)
		}
		w.expect(ledger.Entry{Reading: reading}, condition, reading.Ledger.Generation, public)
	}
	count := &requests{}
	waiting := w.another(count, "")
	peek(waiting, count, "", plan.Missing, 0)
	entry := w.established()
	peek(w.store, w.count, "", plan.Good, 80)
	peek(waiting, count, "GET", plan.Good, 80)
	peek(waiting, count, "", plan.Good, 80)
	w.write(entry, 2, 81, "PATCH")
	peek(w.store, w.count, "", plan.Good, 81) // although the cache is stale
	peek(waiting, count, "", plan.Good, 80)
	w.catchUp()
	peek(waiting, count, "GET", plan.Good, 81)
	w.somebodyElseWrites(3, 82)
	w.catchUp()
	peek(w.store, w.count, "GET", plan.Good, 82)
	peek(w.store, w.count, "", plan.Good, 82)
	w.expect(w.read(w.ask(), ""), plan.Good, 3, 82)
	w.remove()
	w.catchUp()
	peek(waiting, count, "GET", plan.Missing, 0) // the store knew of a ledger that the cache doesn't show any more
	peek(waiting, count, "", plan.Missing, 0)
}

// crowded creates ConfigMaps that no mux names. The store must not read them, and must not keep their data in memory.
func crowded(t *testing.T, w *world) {
	w.established()
	labels := map[string]string{"app.kubernetes.io/name": "svc-lb-mux", "app.kubernetes.io/component": "mux-state",
		"team": "edge"}
	w.create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "crowd", Labels: labels, Finalizers: []string{"example.com/keep"},
			Annotations: map[string]string{w.keys.Mux: strings.Repeat("x", 100_000), "example.com/note": "long"}},
		Data: map[string]string{"text": strings.Repeat("x", 1_000_000)},
	})
	t.Cleanup(func() {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		_ = w.admin.Patch(context.WithoutCancel(t.Context()),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.mux.Namespace, Name: "crowd"}}, patch)
	})
	w.catchUp()
	for range 3 {
		w.expect(w.read(w.ask(), ""), plan.Good, 1, 80)
	}
	shipped := w.shipped()
	kept := ledger.Object()
	if err := shipped.Get(t.Context(), types.NamespacedName{Namespace: w.mux.Namespace, Name: "crowd"}, kept); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(kept)
	if err != nil || len(text) > 400 {
		t.Errorf("%d bytes of unrelated ConfigMaps are kept: %.400s, %v", len(text), text, err)
	}
}
