package mux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

func forbidden(words string) error {
	return fmt.Errorf("write the ledger: %w", apierrors.NewForbidden(corev1.Resource("configmaps"), "mux", errors.New(words)))
}

// TestWhatKeepsTheWholeMuxFromBeingWritten is told if it won't pass by itself, in words that stay.
func TestWhatKeepsTheWholeMuxFromBeingWritten(t *testing.T) {
	line := lineOf(t, answering{})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	line.Now = func() time.Time { return now }
	o := &observed{memory: newMemory(Budget{})}
	b := &o.memory.blocked
	trouble := apierrors.NewInternalError(errors.New("failed calling webhook"))
	for _, passing := range []error{
		trouble, apierrors.NewConflict(corev1.Resource("services"), "mux", errors.New("x")), fmt.Errorf("service x: %w", errBehind),
		apierrors.NewServiceUnavailable("x"), errors.New("connection refused"),
	} {
		if _, err := line.block(t.Context(), o, true, passing); err == nil || b.said != nil {
			t.Errorf("%v: it is told as %v", passing, b.said)
		}
	}
	now = now.Add(lasting)
	if _, err := line.block(t.Context(), o, true, trouble); err != nil || b.said == nil || !strings.Contains(b.said.Words, "failed calling webhook") {
		t.Errorf("trouble that lasts is %v, and told as %v", err, b.said)
	}

	*b = block{}
	_, unwritable := ledger.Encode(plan.Ledger{Hostnames: []plan.HostnameHolder{{Hostname: "a", Namespace: "a b"}}}, line.Language.Keys())
	if _, err := line.block(t.Context(), o, true, unwritable); err != nil || b.said == nil || !strings.Contains(b.said.Words, `"a b"`) {
		t.Errorf("a ledger that can't be written is %v, and told as %v", err, b.said)
	}

	*b = block{}
	if _, err := line.block(t.Context(), o, true, forbidden("exceeded quota: q, used: configmaps=5")); err != nil || b.said == nil {
		t.Fatalf("a refusal is %v, and told as %v", err, b.said)
	}
	first := b.said
	var pauses []time.Duration
	for range 5 {
		if got := b.waits(now); got != first {
			t.Errorf("it is decided by %v", got)
		}
		pauses = append(pauses, b.until.Sub(now))
		now = b.until
		if got := b.waits(now); got != nil || !o.trial(&plan.Plan{}) || o.trial(&plan.Plan{Freeze: &plan.Freeze{}}) {
			t.Errorf("once it is time, it is decided by %v", got)
		}
		if next := o.memory.nextTry(); !next.IsZero() {
			t.Errorf("it is to be tried at %s, while it is", next)
		}
		if _, err := line.block(t.Context(), o, true, forbidden("exceeded quota: q, used: configmaps=6")); err != nil || b.said != first {
			t.Errorf("what is said changes with what is used: %v, %v", b.said, err)
		}
	}
	if text := fmt.Sprint(pauses); text != "[2s 4s 8s 10s 10s]" {
		t.Errorf("the pauses are %s", text)
	}
	if _, err := line.block(t.Context(), o, true, forbidden("by a policy")); err != nil || b.said == first {
		t.Errorf("another refusal is %v, and told as %v", err, b.said)
	}
}

// TestWordsFit: what somebody's webhook says has no bounds, and ends anywhere.
func TestWordsFit(t *testing.T) {
	if got := words(errors.New(strings.Repeat("ä", maxWords))); len(got) > maxWords+3 || got != strings.ToValidUTF8(got, "?") {
		t.Errorf("it has %d bytes: %q", len(got), got)
	}
}

// unread is an API server that has no ConfigMaps for us.
type unread struct{ answering }

func (unread) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return forbidden("cannot get resource")
}

// TestALedgerThatMayNotBeReadFreezes with the API server's words, and trouble that may pass doesn't.
func TestALedgerThatMayNotBeReadFreezes(t *testing.T) {
	line := lineOf(t, answering{})
	keys := line.Language.Keys()
	line.Ledgers, line.Board = ledger.NewStore(keys, nothing{}, unread{}, nil), ledger.NewBoard(nil)
	line.OnMux, line.Carried = noSlices, noneCarried
	o := &observed{memory: newMemory(Budget{})}
	o.world.Mux = &plan.ObservedMux{Mux: validation.Mux{}}
	o.world.Mux.Key, o.world.Mux.Ledger = types.NamespacedName{Namespace: "svc-mux", Name: "mux"}, "claims"
	if err := line.observeLedger(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	read := o.world.Ledger
	if read.Condition != plan.Unreadable || !strings.Contains(read.Why, "ConfigMap claims") || !strings.Contains(read.Why, "cannot get") {
		t.Errorf("it is read as %+v", read)
	}
	line.Ledgers = ledger.NewStore(keys, nothing{}, away{}, nil)
	if err := line.observeLedger(t.Context(), o); err == nil {
		t.Error("an API server that is busy freezes the mux")
	}
}

// nothing is an empty cache.
type nothing struct{ client.Reader }

func (nothing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(corev1.Resource("configmaps"), "claims")
}

// away is an API server that is just busy.
type away struct{ answering }

func (away) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewServiceUnavailable("busy")
}

func noneCarried(context.Context, client.Reader, types.NamespacedName, *corev1.Service) ([]*discoveryv1.EndpointSlice, error) {
	return nil, nil
}

func noSlices(context.Context, client.Reader, types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return nil, nil
}

// full is an API server that has no ConfigMap, and at first no room for one.
type full struct {
	client.Client
	room bool
}

func (*full) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(corev1.Resource("configmaps"), "claims")
}

func (*full) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (f *full) Create(context.Context, client.Object, ...client.CreateOption) error {
	if !f.room {
		return forbidden("exceeded quota")
	}
	return nil
}

func (*full) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, obj)
}

type uncounted struct{ unmetered }

func (uncounted) Decided(*plan.Plan, time.Duration)           {}
func (uncounted) Applied(types.NamespacedName, time.Duration) {}

// TestATrialThatFailsLeavesBackendsAsTheyAre: else what leaves with the trial would come back with the freeze after it, and go with the
// next.
func TestATrialThatFailsLeavesBackendsAsTheyAre(t *testing.T) {
	mux := types.NamespacedName{Namespace: "svc-mux", Name: "mux"}
	server, line := &full{}, lineOf(t, answering{})
	line.Metrics, line.Board = uncounted{}, ledger.NewBoard(nil)
	line.Ledgers = ledger.NewStore(line.Language.Keys(), server, server, server)
	o := &observed{memory: newMemory(Budget{}), world: plan.World{Key: mux, Mux: &plan.ObservedMux{}}}
	var err error
	if o.entry, err = line.Ledgers.Read(t.Context(), ledger.Ask{Mux: mux, Name: "claims"}); err != nil {
		t.Fatal(err)
	}
	o.memory.blocked.said = &plan.Blocked{Ledger: true, Words: "exceeded quota"}
	web := types.NamespacedName{Namespace: "app", Name: "web"}
	leaves := plan.Claim{Owner: plan.PortID{Channel: web, Name: "http", Protocol: corev1.ProtocolTCP}, Public: 204, MuxName: "leaves"}
	stays := plan.Claim{Owner: plan.PortID{Channel: web, Name: "grpc", Protocol: corev1.ProtocolTCP}, Public: 205, MuxName: "stays"}
	comes := plan.Claim{Owner: plan.PortID{Channel: web, Name: "dns", Protocol: corev1.ProtocolUDP}, Public: 53, MuxName: "comes"}
	line.Board.Set(mux, []plan.Claim{leaves, stays}, nil)
	p := &plan.Plan{
		Mux: mux, InForce: []plan.Claim{comes, stays},
		Settle: &plan.LedgerWrite{Ledger: plan.Ledger{Mux: mux, Generation: 1, Claims: []plan.Claim{comes, stays}}},
	}
	for _, want := range []string{"[comes leaves stays]", "[comes stays]"} {
		if _, err := line.apply(t.Context(), o, p); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, claim := range line.Board.Claims(mux) {
			names = append(names, claim.MuxName)
		}
		if got := fmt.Sprint(names); got != want || o.done != server.room {
			t.Errorf("with room for a ledger: %t: backends go by %s, want %s; all is done: %t", server.room, got, want, o.done)
		}
		server.room = true
	}
	o.memory.blocked.said = &plan.Blocked{Ledger: true, Words: "exceeded quota"}
	p.Settle.Ledger.Claims = []plan.Claim{comes}
	if _, err := line.apply(t.Context(), o, p); err != nil {
		t.Fatal(err)
	}
	if last := line.Board.LastGood(mux); last == nil || len(last.Claims) != 1 {
		t.Errorf("the last ledger isn't as it was settled: %+v", last)
	}
}

// TestWhatAFrozenMuxGoesByIsRemembered: the ledger may be lost before anything is decided again.
func TestWhatAFrozenMuxGoesByIsRemembered(t *testing.T) {
	const stamp = 2
	for generation, remembered := range map[int64]bool{1: false, 2: true, 3: true} {
		line := lineOf(t, answering{})
		line.Board = ledger.NewBoard(nil)
		o := &observed{world: plan.World{Mux: &plan.ObservedMux{Mux: validation.Mux{Generation: stamp}}}}
		o.world.Ledger.Ledger.Generation = generation
		line.carry(o, &plan.Plan{Freeze: &plan.Freeze{}}, nil)
		if last := line.Board.LastGood(types.NamespacedName{}); (last != nil) != remembered {
			t.Errorf("of generation %d, while the mux has %d, it is %+v", generation, stamp, last)
		}
	}
}
