package services

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

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/validation"
)

func forbidden(words string) error {
	return fmt.Errorf("write the ledger: %w",
		apierrors.NewForbidden(corev1.Resource("configmaps"), "mux", errors.New(words)))
}

// TestLastingErrorBlocksTheMux: an error that passes by itself doesn't. The message stays the same while the cause
// stays the same.
func TestLastingErrorBlocksTheMux(t *testing.T) {
	line := newLine(t, answering{})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	line.Now = func() time.Time { return now }
	o := &pass{Line: line, memory: newMemory(budget.Limit{})}
	b := &o.memory.blocked
	trouble := apierrors.NewInternalError(errors.New("failed calling webhook"))
	for _, passing := range []error{
		trouble, apierrors.NewConflict(corev1.Resource("services"), "mux", errors.New("x")),
		fmt.Errorf("service x: %w", errBehind),
		apierrors.NewServiceUnavailable("x"), errors.New("connection refused"),
	} {
		if _, err := o.block(t.Context(), true, passing); err == nil || b.reason != nil {
			t.Errorf("%v: the mux is blocked with %v", passing, b.reason)
		}
	}
	now = now.Add(blockAfter)
	_, err := o.block(t.Context(), true, trouble)
	if err != nil || b.reason == nil || !strings.Contains(b.reason.Words, "failed calling webhook") {
		t.Errorf("lasting internal error: got %v, blocked with %v", err, b.reason)
	}

	*b = block{}
	_, unwritable := record.Encode(plan.Ledger{Hostnames: []plan.HostnameHolder{{Hostname: "a", Namespace: "a b"}}},
		line.Language.Keys())
	if _, err := o.block(t.Context(), true, unwritable); err != nil || b.reason == nil ||
		!strings.Contains(b.reason.Words, `"a b"`) {
		t.Errorf("unwritable ledger: got %v, blocked with %v", err, b.reason)
	}

	*b = block{}
	if _, err := o.block(t.Context(), true, forbidden("exceeded quota: q, used: configmaps=5")); err != nil ||
		b.reason == nil {
		t.Fatalf("refusal: got %v, blocked with %v", err, b.reason)
	}
	first := b.reason
	var pauses []time.Duration
	for range 5 {
		if got := b.active(now); got != first {
			t.Errorf("during the pause the block is %v", got)
		}
		pauses = append(pauses, b.until.Sub(now))
		now = b.until
		if got := b.active(now); got != nil || !b.trial(&plan.Plan{}) || b.trial(&plan.Plan{Freeze: &plan.Freeze{}}) {
			t.Errorf("after the pause the block is %v, want a trial", got)
		}
		if next := b.until; !next.IsZero() {
			t.Errorf("the next try is at %s, though a trial is under way", next)
		}
		if _, err := o.block(t.Context(), true, forbidden("exceeded quota: q, used: configmaps=6")); err != nil ||
			b.reason != first {
			t.Errorf("the message changes with the used quota: %v, %v", b.reason, err)
		}
	}
	if text := fmt.Sprint(pauses); text != "[2s 4s 8s 10s 10s]" {
		t.Errorf("got pauses %s", text)
	}
	if _, err := o.block(t.Context(), true, forbidden("by a policy")); err != nil || b.reason == first {
		t.Errorf("another refusal: got %v, blocked with %v", err, b.reason)
	}
}

// forbiddenServer is an API server that forbids us to read ConfigMaps.
type forbiddenServer struct{ answering }

func (forbiddenServer) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return forbidden("cannot get resource")
}

// TestForbiddenLedgerFreezesTheMux with the API server's message. A busy API server doesn't freeze it.
func TestForbiddenLedgerFreezesTheMux(t *testing.T) {
	line := newLine(t, answering{})
	keys := line.Language.Keys()
	line.Ledgers, line.Board = ledger.NewStore(keys, emptyCache{}, forbiddenServer{}, nil), ledger.NewBoard(nil)
	line.OnMux = noSlices
	o := &pass{Line: line, memory: newMemory(budget.Limit{})}
	o.world.Mux = &plan.ObservedMux{Mux: validation.Mux{}}
	o.world.Mux.Key, o.world.Mux.Ledger = types.NamespacedName{Namespace: "svc-mux", Name: "mux"}, "claims"
	if err := o.observeLedger(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := o.world.Ledger
	if read.Condition != plan.Unreadable || !strings.Contains(read.Why, "ConfigMap claims") ||
		!strings.Contains(read.Why, "cannot get") {
		t.Errorf("got %+v", read)
	}
	line.Ledgers = ledger.NewStore(keys, emptyCache{}, busyServer{}, nil)
	if err := o.observeLedger(t.Context()); err == nil {
		t.Error("an API server that is busy freezes the mux")
	}
}

type emptyCache struct{ client.Reader }

func (emptyCache) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(corev1.Resource("configmaps"), "claims")
}

type busyServer struct{ answering }

func (busyServer) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewServiceUnavailable("busy")
}

func noSlices(context.Context, client.Reader, types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return nil, nil
}

// fullServer is an API server without ConfigMaps. While room is false, a quota refuses to create one.
type fullServer struct {
	client.Client
	room bool
}

func (*fullServer) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(corev1.Resource("configmaps"), "claims")
}

func (*fullServer) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (f *fullServer) Create(context.Context, client.Object, ...client.CreateOption) error {
	if !f.room {
		return forbidden("exceeded quota")
	}
	return nil
}

func (*fullServer) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, obj)
}

type uncounted struct{ unmetered }

func (uncounted) Decided(*plan.Plan, time.Duration)           {}
func (uncounted) Applied(types.NamespacedName, time.Duration) {}

// TestFailedTrialKeepsBackends: otherwise each trial would remove the backends of old claims, and the freeze after it
// would restore them.
func TestFailedTrialKeepsBackends(t *testing.T) {
	mux := types.NamespacedName{Namespace: "svc-mux", Name: "mux"}
	server, line := &fullServer{}, newLine(t, answering{})
	line.Metrics, line.Board = uncounted{}, ledger.NewBoard(nil)
	line.Ledgers = ledger.NewStore(line.Language.Keys(), server, server, server)
	o := &pass{Line: line, memory: newMemory(budget.Limit{}), world: plan.World{Key: mux, Mux: &plan.ObservedMux{}}}
	var err error
	if o.entry, err = line.Ledgers.Read(t.Context(), ledger.Ask{Mux: mux, Name: "claims"}); err != nil {
		t.Fatal(err)
	}
	o.memory.blocked.reason = &plan.Blocked{Ledger: true, Words: "exceeded quota"}
	web := types.NamespacedName{Namespace: "app", Name: "web"}
	old := plan.Claim{Owner: plan.PortID{Channel: web, Name: "http", Protocol: corev1.ProtocolTCP}, Public: 204,
		MuxName: "old"}
	kept := plan.Claim{Owner: plan.PortID{Channel: web, Name: "grpc", Protocol: corev1.ProtocolTCP}, Public: 205,
		MuxName: "kept"}
	added := plan.Claim{Owner: plan.PortID{Channel: web, Name: "dns", Protocol: corev1.ProtocolUDP}, Public: 53,
		MuxName: "added"}
	line.Board.Set(mux, []plan.Claim{old, kept}, nil)
	p := &plan.Plan{
		Mux: mux, InForce: []plan.Claim{added, kept},
		Settle: &plan.LedgerWrite{Ledger: plan.Ledger{Mux: mux, Generation: 1, Claims: []plan.Claim{added, kept}}},
	}
	for _, want := range []string{"[added old kept]", "[added kept]"} {
		if _, err := o.apply(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, claim := range line.Board.Claims(mux) {
			names = append(names, claim.MuxName)
		}
		if got := fmt.Sprint(names); got != want || o.done != server.room {
			t.Errorf("with room for a ledger: %t: backends follow %s, want %s; done: %t", server.room, got, want, o.done)
		}
		server.room = true
	}
	o.memory.blocked.reason = &plan.Blocked{Ledger: true, Words: "exceeded quota"}
	p.Settle.Ledger.Claims = []plan.Claim{added}
	if _, err := o.apply(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if last := line.Board.LastGood(mux); last == nil || len(last.Claims) != 1 {
		t.Errorf("the last good ledger isn't the settled one: %+v", last)
	}
}

// TestLedgerOfAFrozenMuxIsRemembered: the ledger may be lost before the freeze ends.
func TestLedgerOfAFrozenMuxIsRemembered(t *testing.T) {
	const stamp = 2
	for generation, remembered := range map[int64]bool{1: false, 2: true, 3: true} {
		line := newLine(t, answering{})
		line.Board = ledger.NewBoard(nil)
		o := &pass{Line: line, world: plan.World{Mux: &plan.ObservedMux{Mux: validation.Mux{Generation: stamp}}}}
		o.world.Ledger.Ledger.Generation = generation
		o.setBoard(&plan.Plan{Freeze: &plan.Freeze{}}, nil)
		if last := line.Board.LastGood(types.NamespacedName{}); (last != nil) != remembered {
			t.Errorf("ledger generation %d, stamp %d: remembered %+v", generation, stamp, last)
		}
	}
}
