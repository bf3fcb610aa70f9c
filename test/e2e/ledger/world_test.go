package ledger

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/validation"
)

// world is a namespace with a mux, the store under test, and an independent client.
type world struct {
	*testing.T
	config *rest.Config
	keys   validation.Keys
	mux    types.NamespacedName
	admin  client.Client
	cache  *lagging
	store  *ledger.Store
	count  *requests
}

func newWorld(t *testing.T, c *cluster.Cluster) *world {
	language, err := validation.New(validation.DefaultPrefix, "default")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, config: c.Config, keys: language.Keys()}
	w.admin = newClient(t, c.Config)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "ledger-"}}
	if err := w.admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	w.mux = types.NamespacedName{Namespace: namespace.Name, Name: "mux"}
	w.cache = &lagging{source: w.admin, namespace: namespace.Name}
	w.count = &requests{}
	w.store = w.another(w.count, "")
	return w
}

// another returns a second store with the same cache, and counts its requests. If a user is named, it has only that
// user's rights.
func (w *world) another(count *requests, user string) *ledger.Store {
	w.Helper()
	config := rest.CopyConfig(w.config)
	config.Impersonate.UserName = user
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, count} })
	c := newClient(w.T, config)
	return ledger.NewStore(w.keys, w.cache, c, c)
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) catchUp() {
	w.Helper()
	if err := w.cache.catchUp(w.Context()); err != nil {
		w.Fatal(err)
	}
}

func (w *world) ask() ledger.Ask { return ledger.Ask{Mux: w.mux, Name: ledgerName} }

// read reads with the store under test, and checks its requests.
func (w *world) read(ask ledger.Ask, sent string) ledger.Entry {
	w.Helper()
	entry, err := w.store.Read(w.Context(), ask)
	if err != nil {
		w.Fatal(err)
	}
	if got := w.count.since(); got != sent {
		w.Errorf("to read, it sent %q, not %q", got, sent)
	}
	return entry
}

// write writes one claim with this number, with the store under test.
func (w *world) write(entry ledger.Entry, generation int64, public int32, sent string) ledger.Entry {
	w.Helper()
	entry, err := w.store.Write(w.Context(), w.claims(generation, public), entry)
	if err != nil {
		w.Fatal(err)
	}
	if got := w.count.since(); got != sent {
		w.Errorf("to write, it sent %q, not %q", got, sent)
	}
	w.expect(entry, plan.Good, generation, public)
	return entry
}

// claims returns a ledger with one claim.
func (w *world) claims(generation int64, public int32) plan.Ledger {
	return plan.Ledger{Mux: w.mux, Generation: generation, Claims: []plan.Claim{{
		Owner: plan.PortID{Channel: types.NamespacedName{Namespace: "app", Name: "api"}, Name: "http", Protocol: "TCP"},
		Port:  80, Public: public,
	}}}
}

// expect checks the result of a read. A number of 0 means no claims.
func (w *world) expect(entry ledger.Entry, condition plan.LedgerState, generation int64, public int32) {
	w.Helper()
	var got int32
	if len(entry.Ledger.Claims) > 0 {
		got = entry.Ledger.Claims[0].Public
	}
	if entry.Condition != condition || entry.Ledger.Generation != generation || got != public {
		w.Errorf("it is read as %d, generation %d with %d (%s); not as %d, generation %d with %d", entry.Condition,
			entry.Ledger.Generation, got, entry.Why, condition, generation, public)
	}
}

// live returns the stored ConfigMap, or nil.
func (w *world) live(name string) *corev1.ConfigMap {
	w.Helper()
	var cm corev1.ConfigMap
	err := w.admin.Get(w.Context(), types.NamespacedName{Namespace: w.mux.Namespace, Name: name}, &cm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return &cm
}

// edit changes the ledger by hand.
func (w *world) edit(change func(*corev1.ConfigMap)) {
	w.Helper()
	cm := w.live(ledgerName)
	change(cm)
	if err := w.admin.Update(w.Context(), cm); err != nil {
		w.Fatal(err)
	}
}

func (w *world) create(object client.Object) {
	w.Helper()
	object.SetNamespace(w.mux.Namespace)
	object.SetResourceVersion("")
	object.SetUID("")
	if err := w.admin.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// remove deletes the ledger by hand.
func (w *world) remove() {
	w.Helper()
	if err := w.admin.Delete(w.Context(), w.live(ledgerName)); err != nil {
		w.Fatal(err)
	}
}

// established creates a ledger of generation 1 with the number 80, which the cache has.
func (w *world) established() ledger.Entry {
	w.Helper()
	entry, err := w.store.Read(w.Context(), w.ask())
	if err != nil {
		w.Fatal(err)
	}
	w.expect(entry, plan.Missing, 0, 0)
	if entry, err = w.store.Write(w.Context(), w.claims(1, 80), entry); err != nil {
		w.Fatal(err)
	}
	w.catchUp()
	w.count.since()
	return entry
}
