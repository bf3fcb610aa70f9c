package ledger

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

// storeWorld is a store, a fake API server that counts requests, and a cache that shows changes when catchUp is called.
type storeWorld struct {
	*testing.T
	store *Store
	admin client.Client // its requests aren't counted
	sent  []string
	// refuse has the error for the next request of a verb.
	refuse map[string]error
	cache  stillCache
}

// stillCache shows ConfigMaps as they were at the last catchUp.
type stillCache struct {
	client.Reader
	shown map[string]*metav1.PartialObjectMetadata
	err   error
}

func (c *stillCache) Get(_ context.Context, key client.ObjectKey, to client.Object, _ ...client.GetOption) error {
	if c.err != nil {
		return c.err
	}
	shown := c.shown[key.Name]
	if shown == nil || key.Namespace != mux.Namespace {
		return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
	}
	shown.DeepCopyInto(to.(*metav1.PartialObjectMetadata))
	return nil
}

const (
	oldName = "old-name"
	newName = "new-name"
)

func newStoreWorld(t *testing.T) *storeWorld {
	t.Helper()
	w := &storeWorld{T: t, refuse: map[string]error{}, admin: fake.NewClientBuilder().Build()}
	note := func(verb, name string) error {
		w.sent = append(w.sent, verb+" "+name)
		err := w.refuse[verb]
		delete(w.refuse, verb)
		return err
	}
	counted := interceptor.NewClient(w.admin.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object,
			opts ...client.GetOption) error {
			if err := note("GET", key.Name); err != nil {
				return err
			}
			return c.Get(ctx, key, obj, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := note("POST", obj.GetName()); err != nil {
				return err
			}
			obj.SetUID(types.UID("uid-" + obj.GetName()))
			return c.Create(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			if err := note("PATCH", obj.GetName()); err != nil {
				return err
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if err := note("DELETE", obj.GetName()); err != nil {
				return err
			}
			w.checkPreconditions(obj, opts)
			return c.Delete(ctx, obj, opts...)
		},
	})
	w.store = NewStore(keys, &w.cache, counted, counted)
	w.catchUp()
	return w
}

// checkPreconditions checks a UID as the API server does, because the fake one doesn't.
func (w *storeWorld) checkPreconditions(obj client.Object, opts []client.DeleteOption) {
	w.Helper()
	var all client.DeleteOptions
	all.ApplyOptions(opts)
	live := w.live(obj.GetName())
	if live != nil &&
		(all.Preconditions == nil || *all.Preconditions.UID != live.UID || all.Preconditions.ResourceVersion == nil) {
		w.Errorf("%s is deleted under the preconditions %v", obj.GetName(), all.Preconditions)
	}
}

// catchUp makes the cache show the present state.
func (w *storeWorld) catchUp() {
	w.Helper()
	var list corev1.ConfigMapList
	if err := w.admin.List(w.Context(), &list, client.MatchingLabelsSelector{Selector: record.Selector()}); err != nil {
		w.Fatal(err)
	}
	w.cache.shown = map[string]*metav1.PartialObjectMetadata{}
	for i := range list.Items {
		shown := Object()
		shown.ObjectMeta = *list.Items[i].ObjectMeta.DeepCopy()
		Trim(shown, keys)
		w.cache.shown[shown.Name] = shown
	}
}

// live returns a ConfigMap from the fake API server; nil if it doesn't exist.
func (w *storeWorld) live(name string) *corev1.ConfigMap {
	w.Helper()
	var cm corev1.ConfigMap
	err := w.admin.Get(w.Context(), client.ObjectKey{Namespace: mux.Namespace, Name: name}, &cm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return &cm
}

// edit changes a ConfigMap by hand.
func (w *storeWorld) edit(name string, change func(*corev1.ConfigMap)) {
	w.Helper()
	cm := w.live(name)
	change(cm)
	if err := w.admin.Update(w.Context(), cm); err != nil {
		w.Fatal(err)
	}
}

// remove deletes the ledger under its new name.
func (w *storeWorld) remove() {
	w.Helper()
	if err := w.admin.Delete(w.Context(), w.live(newName)); err != nil {
		w.Fatal(err)
	}
}

// put creates a ledger as another process of ours would.
func (w *storeWorld) put(name string, ledger plan.Ledger) {
	w.Helper()
	contents, err := record.Encode(ledger, keys)
	if err != nil {
		w.Fatal(err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: mux.Namespace, Name: name, UID: types.UID("uid-" + name), Labels: contents.Labels,
		Annotations: contents.Annotations,
	}, Data: map[string]string{record.PlainKey: contents.Plain}}
	if err := w.admin.Create(w.Context(), cm); err != nil {
		w.Fatal(err)
	}
}

// one returns a ledger with one claim of app/service-00000.
func one(generation int64, public int32) plan.Ledger {
	return plan.Ledger{Mux: mux, Generation: generation, Claims: withNumber(public)}
}

// requests checks which requests were sent since the last call.
func (w *storeWorld) requests(want string) {
	w.Helper()
	if got := strings.Join(w.sent, ", "); got != want {
		w.Errorf("it sent %q, not %q", got, want)
	}
	w.sent = nil
}

func (w *storeWorld) read(ask Ask, sent string) Entry {
	w.Helper()
	entry, err := w.store.Read(w.Context(), ask)
	if err != nil {
		w.Fatal(err)
	}
	w.requests(sent)
	return entry
}

func (w *storeWorld) write(entry Entry, ledger plan.Ledger, sent string) Entry {
	w.Helper()
	entry, err := w.store.Write(w.Context(), ledger, entry)
	if err != nil {
		w.Fatal(err)
	}
	w.requests(sent)
	w.expect(entry.Reading, plan.Good, entry.ask.Name, ledger.Generation, ledger.Claims[0].Public)
	if diff := cmp.Diff(record.Decode(w.live(entry.Name), mux, keys), entry.Reading); diff != "" {
		w.Errorf("it is written as -, and returned as +:\n%s", diff)
	}
	return entry
}

// expect checks a reading; a number of 0 stands for no claims.
func (w *storeWorld) expect(got plan.Reading, condition plan.LedgerState, name string, generation int64, public int32) {
	w.Helper()
	var number int32
	if len(got.Ledger.Claims) > 0 {
		number = got.Ledger.Claims[0].Public
	}
	if got.Condition != condition || got.Name != name || got.Ledger.Generation != generation || number != public {
		w.Errorf("%s is read as %d, generation %d with %d (%s); not %s as %d, generation %d with %d", got.Name, got.Condition,
			got.Ledger.Generation, number, got.Why, name, condition, generation, public)
	}
}

func asks(stamp int64) Ask { return Ask{Mux: mux, Name: newName, InForce: newName, Stamp: stamp} }

// moves returns the Ask for the ledger of a mux whose owner has changed the ledger's name.
func moves(stamp int64) Ask { return Ask{Mux: mux, Name: newName, InForce: oldName, Stamp: stamp} }
