package ledger

import (
	"context"
	"errors"
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
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

func conflicts(t *testing.T, w *world) {
	missing := w.read(w.ask(), "GET")
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
	again("it already exists", missing)
	second := w.write(first, 2, 81, "PATCH")
	again("it was written meanwhile", first)
	w.edit(func(cm *corev1.ConfigMap) { cm.Labels["team"] = "edge" })
	again("another client labelled it meanwhile", second)
	w.remove()
	again("it was deleted meanwhile", second)
	third := w.write(missing, 3, 82, "POST")
	again("it was recreated meanwhile", second)
	other := w.claims(4, 83)
	other.Mux.Name = "other"
	if _, err := w.store.Write(t.Context(), other, third); err == nil {
		t.Error("another mux's ledger is overwritten")
	}
}

// renamed asks for the ledger of a mux whose owner wants another name for it.
func (w *world) renamed(stamp int64) ledger.Ask {
	return ledger.Ask{Mux: w.mux, Name: "edge-ports", InForce: ledgerName, Stamp: stamp}
}

func moves(t *testing.T, w *world) {
	w.established()
	entry := w.read(w.renamed(1), "GET")
	w.expect(entry, plan.Good, 1, 80)
	if !entry.Moved || entry.Name != ledgerName {
		t.Errorf("the ledger is read from %s, moved: %v", entry.Name, entry.Moved)
	}
	entry = w.write(entry, 2, 80, "POST")
	if entry.Moved || entry.Name != "edge-ports" || w.live(ledgerName) == nil || w.live("edge-ports") == nil {
		t.Errorf("it was written to %s; the old one: %v", entry.Name, w.live(ledgerName))
	}
	w.catchUp()
	w.expect(w.read(w.renamed(1), ""), plan.Good, 2, 80) // a process that starts before the mux is switched
	entry = w.write(entry, 3, 81, "PATCH")
	if err := w.store.DropOld(t.Context(), entry); err != nil || w.count.since() != "DELETE" || w.live(ledgerName) != nil {
		t.Errorf("the old one: %v, %v", w.live(ledgerName), err)
	}
	w.catchUp()
	w.expect(w.read(ledger.Ask{Mux: w.mux, Name: "edge-ports", InForce: "edge-ports", Stamp: 3}, ""), plan.Good, 3, 81)
}

// movesOver moves a ledger to a name under which an older copy exists, as after a failed delete or a copy by hand.
func movesOver(t *testing.T, w *world) {
	entry := w.established()
	cm := w.live(ledgerName)
	cm.Name = "edge-ports"
	w.create(cm)
	w.catchUp()
	w.write(entry, 2, 81, "PATCH")
	entry = w.read(w.renamed(2), "GET")
	w.expect(entry, plan.Good, 2, 81)
	entry = w.write(entry, 3, 82, "PATCH")
	w.edit(func(cm *corev1.ConfigMap) { cm.Labels["team"] = "edge" })
	if err := w.store.DropOld(t.Context(), entry); err == nil || w.live(ledgerName) == nil {
		t.Errorf("the old one was deleted, though somebody changed it: %v", err)
	}
}

func movesWithoutDelete(t *testing.T, w *world) {
	w.established()
	w.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "writer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "create", "patch"}}}})
	w.create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "writer"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "writer"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "writer"}}})
	store := w.another(&requests{}, "writer")
	var entry ledger.Entry
	cluster.Eventually(t, "the role counts", func(ctx context.Context) error {
		var err error
		entry, err = store.Read(ctx, w.renamed(1))
		return err
	})
	entry, err := store.Write(t.Context(), w.claims(2, 81), entry)
	if err != nil {
		t.Fatal(err)
	}
	err = store.DropOld(t.Context(), entry)
	if err == nil || !strings.Contains(err.Error(), w.mux.Namespace+"/"+ledgerName) || apierrors.IsForbidden(err) {
		t.Errorf("what is left behind isn't told, or as if nothing had been written: %v", err)
	}
	if w.live(ledgerName) == nil {
		t.Error("the copy was deleted without the right to")
	}
}

// nothing is a cache that has heard of nothing yet.
type nothing struct{ client.Reader }

func (nothing) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
}

func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// unknown checks that a process that has just started doesn't create a second ledger beside the one that the mux names.
func unknown(t *testing.T, w *world) {
	w.established()
	entry, err := ledger.NewStore(w.keys, nothing{}, w.admin, w.admin).Read(t.Context(), w.renamed(1))
	if err != nil {
		t.Fatal(err)
	}
	w.expect(entry, plan.Good, 1, 80)
	if !entry.Moved || entry.Name != ledgerName {
		t.Errorf("the ledger is read from %s, moved: %v", entry.Name, entry.Moved)
	}
}

func movesBroken(t *testing.T, w *world) {
	w.established()
	w.edit(func(cm *corev1.ConfigMap) { cm.Data[record.PlainKey] = "{" })
	w.catchUp()
	entry := w.read(w.renamed(1), "GET GET")
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
		"another mux's text": {ObjectMeta: metav1.ObjectMeta{Labels: ours,
			Annotations: map[string]string{w.keys.Mux: w.mux.String()}},
			Data: map[string]string{record.PlainKey: `{"mux":{"namespace":"a","name":"b"}}`}},
	} {
		cm.Name = ledgerName
		w.create(cm)
		w.catchUp()
		entry := w.read(w.ask(), "GET")
		w.expect(entry, plan.Foreign, 0, 0)
		if !strings.Contains(entry.Why, w.mux.Namespace+"/"+ledgerName) ||
			!strings.Contains(entry.Why, w.keys.AllocationConfigMap) {
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
		ledger.Object(): {Label: record.Selector(), Transform: func(obj any) (any, error) {
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
