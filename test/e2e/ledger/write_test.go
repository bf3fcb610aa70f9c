package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

func conflicts(t *testing.T, w *world) {
	missing := w.read(w.ask(), "GET GET")
	first := w.write(missing, 1, 80, "POST")
	again := func(what string, entry ledger.Entry) {
		t.Helper()
		before := w.live(ledgerName)
		if _, err := w.store.Write(t.Context(), w.claims(9, 99), entry); !apierrors.IsConflict(err) {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(before, w.live(ledgerName)); diff != "" {
			t.Errorf("%s: the ConfigMap is written:\n%s", what, diff)
		}
		w.count.since()
	}
	again("it is there already", missing)
	second := w.write(first, 2, 81, "PATCH")
	again("it was written since", first)
	w.edit(func(cm *corev1.ConfigMap) { cm.Labels["team"] = "edge" })
	again("somebody labelled it since", second)
	w.remove()
	again("it was deleted since", second)
	third := w.write(missing, 3, 82, "POST")
	again("it was made anew since", second)
	other := w.claims(4, 83)
	other.Mux.Name = "other"
	if _, err := w.store.Write(t.Context(), other, third); err == nil {
		t.Error("another mux's ledger is overwritten")
	}
}

func moves(t *testing.T, w *world) {
	w.established()
	ask := w.ask()
	ask.Name, ask.Stamp = "edge-ports", 1
	entry := w.read(ask, "GET GET GET")
	w.expect(entry, plan.Good, 1, 80)
	if !entry.Moved || entry.Name != ledgerName {
		t.Errorf("the ledger is read from %s, moved: %v", entry.Name, entry.Moved)
	}
	entry = w.write(entry, 2, 80, "POST DELETE")
	if entry.Moved || entry.Name != "edge-ports" || w.live(ledgerName) != nil || w.live("edge-ports") == nil {
		t.Errorf("the ledger was written to %s; the old one: %v", entry.Name, w.live(ledgerName))
	}
	w.write(entry, 3, 81, "PATCH")
	w.catchUp()
	w.expect(w.read(ask, ""), plan.Good, 3, 81)
}

// movesWithoutDelete leaves the same state as a crash between the two writes.
func movesWithoutDelete(t *testing.T, w *world) {
	w.established()
	w.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "writer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "create", "patch"}}}})
	w.create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "writer"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "writer"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "writer"}}})
	ask := w.ask()
	ask.Name = "edge-ports"
	store := w.another(&requests{}, "writer")
	var entry ledger.Entry
	cluster.Eventually(t, "the role counts", func(ctx context.Context) error {
		var err error
		entry, err = store.Read(ctx, ask)
		return err
	})
	entry, err := store.Write(t.Context(), w.claims(2, 81), entry)
	if !errors.Is(err, ledger.ErrLeftBehind) || !strings.Contains(err.Error(), w.mux.Namespace+"/"+ledgerName) || apierrors.IsForbidden(err) {
		t.Errorf("the leftover copy isn't reported, or the write is reported as failed: %v", err)
	}
	w.expect(entry, plan.Good, 2, 81)
	w.catchUp()
	w.expect(w.read(ask, "GET"), plan.Good, 2, 81)
	if w.live(ledgerName) == nil {
		t.Error("the copy was deleted without the right to")
	}
}

// copyAs creates a copy of the ledger under another name, as users do, or a crash during a move.
func (w *world) copyAs(name string) {
	w.Helper()
	cm := w.live(ledgerName)
	cm.Name = name
	w.create(cm)
}

func oldCopies(t *testing.T, w *world) {
	entry := w.established()
	w.copyAs("backup")
	w.write(entry, 2, 81, "PATCH")
	w.remove()
	w.catchUp()
	ask := w.ask()
	ask.Stamp = 2
	entry = w.read(ask, "GET GET GET")
	w.expect(entry, plan.Missing, 0, 0)
	w.write(entry, 3, 82, "POST")
	if w.live("backup") == nil {
		t.Error("the copy is gone")
	}
}

func newestCopy(t *testing.T, w *world) {
	entry := w.established()
	w.copyAs("a")
	entry = w.write(entry, 3, 83, "PATCH")
	w.copyAs("b")
	w.write(entry, 2, 82, "PATCH")
	w.copyAs("c")
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "d", Labels: maps.Clone(w.live("c").Labels),
		Annotations: map[string]string{w.keys.Mux: w.mux.Namespace + "/other"}}})
	w.remove()
	w.catchUp()
	entry = w.read(w.ask(), "GET GET GET GET GET")
	w.expect(entry, plan.Good, 3, 83)
	w.write(entry, 4, 84, "POST DELETE")
	if w.live("b") != nil || w.live("a") == nil || w.live("c") == nil || w.live("d") == nil {
		t.Error("want only b deleted")
	}
}

// movesBack moves a ledger back to a former name. The copy under that name is older than the moved ledger, whether or
// not the cache has it.
func movesBack(t *testing.T, w *world) {
	entry := w.established()
	w.copyAs("left")
	w.catchUp()
	w.write(entry, 2, 81, "PATCH")
	ask := w.ask()
	ask.Name = "left" // the cache has two of generation 1
	for _, caughtUp := range [...]bool{false, true} {
		if caughtUp {
			w.catchUp()
		}
		entry = w.read(ask, "GET GET")
		w.expect(entry, plan.Good, 2, 81)
		if !entry.Moved || entry.Name != ledgerName {
			t.Errorf("the ledger is read from %s, moved: %v", entry.Name, entry.Moved)
		}
	}
	entry = w.write(entry, 3, 82, "GET PATCH DELETE")
	if entry.Moved || entry.Name != "left" || w.live(ledgerName) != nil {
		t.Errorf("the ledger was written to %s; the newer one: %v", entry.Name, w.live(ledgerName))
	}
	w.expect(w.read(ask, ""), plan.Good, 3, 82)
}

// nothing is an empty cache of a process that just started.
type nothing struct{ client.Reader }

func (nothing) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
}

func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// unknown checks that a new process doesn't start a second ledger beside one under another name.
func unknown(t *testing.T, w *world) {
	w.established()
	ask := w.ask()
	ask.Name = "edge-ports"
	entry, err := ledger.NewStore(w.keys, nothing{}, w.admin, w.admin).Read(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	w.expect(entry, plan.Good, 1, 80)
	if !entry.Moved || entry.Name != ledgerName {
		t.Errorf("the ledger is read from %s, moved: %v", entry.Name, entry.Moved)
	}
}

// overtaken finds a copy whose generation is above the mux's stamp, because its writer died. The next write must have a
// higher generation than the copy.
func overtaken(t *testing.T, w *world) {
	w.established()
	w.left("ahead", 2)
	entry := w.read(w.stamped(), "GET")
	if _, err := w.store.Write(t.Context(), w.claims(2, 81), entry); !apierrors.IsConflict(err) || w.count.since() != "GET" {
		t.Errorf("a ledger is written with the generation of the copy: %v", err)
	}
	entry = w.read(w.stamped(), "")
	w.expect(entry, plan.Good, 1, 80)
	if entry.Above != 2 {
		t.Errorf("the next generation must be above %d, want 2", entry.Above)
	}
	w.write(entry, 3, 81, "PATCH")
}

// beyondBelief creates a ConfigMap with an absurd generation: users must not be able to use up generations.
func beyondBelief(_ *testing.T, w *world) {
	w.established()
	w.left("forged", 1<<40)
	w.write(w.read(w.stamped(), "GET"), 2, 81, "GET PATCH")
}

// left creates a copy that a dead process left, and starts another store.
func (w *world) left(name string, generation int64) {
	w.Helper()
	contents, err := ledger.Encode(w.claims(generation, 99), w.keys)
	if err != nil {
		w.Fatal(err)
	}
	w.create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: contents.Labels, Annotations: contents.Annotations},
		Data:       map[string]string{ledger.PlainKey: contents.Plain},
	})
	w.catchUp()
	w.store = w.another(w.count, "")
}

// stamped returns a request for the ledger of a mux with generation 1.
func (w *world) stamped() ledger.Ask {
	ask := w.ask()
	ask.Stamp = 1
	return ask
}

// forged creates ConfigMaps as a user who may create them. The mux keeps its own ledger. If it has none, only a few of
// them are read.
func forged(t *testing.T, w *world) {
	w.established()
	contents, err := ledger.Encode(w.claims(9, 99), w.keys)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		w.create(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("forged-%d", i), Labels: contents.Labels, Annotations: contents.Annotations},
			Data:       map[string]string{ledger.PlainKey: contents.Plain},
		})
	}
	w.catchUp()
	ask := w.ask()
	ask.Stamp = 1
	w.expect(w.read(ask, ""), plan.Good, 1, 80)
	w.remove()
	w.catchUp()
	w.expect(w.read(ask, strings.TrimSpace(strings.Repeat("GET ", 2+8))), plan.Good, 9, 99)
}

func movesBroken(t *testing.T, w *world) {
	w.established()
	w.edit(func(cm *corev1.ConfigMap) { cm.Data[ledger.PlainKey] = "{" })
	w.catchUp()
	ask := w.ask()
	ask.Name = "edge-ports"
	entry := w.read(ask, "GET GET GET")
	w.expect(entry, plan.Unreadable, 0, 0)
	if !entry.Moved || entry.Name != ledgerName || !strings.Contains(entry.Why, ledgerName) {
		t.Errorf("the ledger is read from %s, moved: %v: %s", entry.Name, entry.Moved, entry.Why)
	}
	if _, err := w.store.Write(t.Context(), w.claims(1, 80), entry); err == nil {
		t.Error("the broken ledger is overwritten")
	}
}

func foreign(t *testing.T, w *world) {
	ours := map[string]string{"app.kubernetes.io/name": "svc-lb-mux", "app.kubernetes.io/component": "mux-state"}
	for what, cm := range map[string]*corev1.ConfigMap{
		"a user's settings": {Data: map[string]string{"colour": "green"}},
		"only our labels":   {ObjectMeta: metav1.ObjectMeta{Labels: ours}},
		"another mux's": {ObjectMeta: metav1.ObjectMeta{Labels: ours,
			Annotations: map[string]string{w.keys.Mux: w.mux.Namespace + "/other"}}},
		"another mux's text": {ObjectMeta: metav1.ObjectMeta{Labels: ours, Annotations: map[string]string{w.keys.Mux: w.mux.String()}},
			Data: map[string]string{ledger.PlainKey: `{"mux":{"namespace":"a","name":"b"}}`}},
	} {
		cm.Name = ledgerName
		w.create(cm)
		w.catchUp()
		entry := w.read(w.ask(), "GET")
		w.expect(entry, plan.Foreign, 0, 0)
		if !strings.Contains(entry.Why, w.mux.Namespace+"/"+ledgerName) || !strings.Contains(entry.Why, w.keys.AllocationConfigMap) {
			t.Errorf("%s: %s", what, entry.Why)
		}
		before := w.live(ledgerName)
		if _, err := w.store.Write(t.Context(), w.claims(1, 80), entry); err == nil {
			t.Errorf("%s is overwritten", what)
		}
		// Without a read before the write, the result must be the same.
		missing := ledger.Ask{Mux: w.mux, Name: "nothing"}
		if entry, err := w.store.Read(t.Context(), missing); err != nil || entry.Condition != plan.Missing {
			t.Errorf("%s: another name is read as %d, %v", what, entry.Condition, err)
		}
		if diff := cmp.Diff(before, w.live(ledgerName)); diff != "" {
			t.Errorf("%s: the ConfigMap is written:\n%s", what, diff)
		}
		w.remove()
		w.count.since()
	}
}

// shipped returns the process's real cache, as configured for ledgers.
func (w *world) shipped() cache.Cache {
	w.Helper()
	shipped, err := cache.New(w.config, cache.Options{ByObject: map[client.Object]cache.ByObject{
		ledger.Object(): {Label: ledger.Selector(), Transform: func(obj any) (any, error) {
			ledger.Trim(obj.(*metav1.PartialObjectMetadata), w.keys)
			return obj, nil
		}}}})
	if err != nil {
		w.Fatal(err)
	}
	go func() { _ = shipped.Start(w.Context()) }()
	if !shipped.WaitForCacheSync(w.Context()) {
		w.Fatal("the cache doesn't start")
	}
	return shipped
}

// realCache uses the process's cache. It sees the store's writes, and drops ledgers that lose their label.
func realCache(t *testing.T, w *world) {
	shipped := w.shipped()
	store := ledger.NewStore(w.keys, shipped, w.admin, w.admin)
	read := func(ctx context.Context) (ledger.Entry, error) { return store.Read(ctx, w.ask()) }
	entry, err := read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.expect(entry, plan.Missing, 0, 0)
	for generation := range int64(20) {
		if _, err = store.Write(t.Context(), w.claims(generation+1, 80), entry); err != nil {
			t.Fatal(err)
		}
		if entry, err = read(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.expect(entry, plan.Good, generation+1, 80)
	}
	w.edit(func(cm *corev1.ConfigMap) { delete(cm.Labels, "app.kubernetes.io/component") })
	cluster.Eventually(t, "the store sees that the label is gone", func(ctx context.Context) error {
		entry, err := read(ctx)
		if err == nil && !entry.Unlabelled {
			err = errors.New("the cache is stale")
		}
		return err
	})
}
