package services

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
)

// apply writes a plan in the order that keeps the promises: ledger, removed addresses, mux, ledger, channels. It stops
// at the first write that fails, and the next pass continues from the state in the cluster. It returns when to
// reconcile again.
func (o *pass) apply(ctx context.Context, p *plan.Plan) (time.Time, error) {
	start := o.Now()
	trial := o.memory.blocked.trial(p)
	if !trial {
		o.tellStanding(p)
	}
	if o.Print != nil {
		o.Print(p)
		o.setBoard(p, p.Leaving)
		o.done = true
		return time.Time{}, nil
	}
	if err := o.writeLedger(ctx, p.Reserve); err != nil {
		o.giveTurnBack(p)
		return o.block(ctx, true, err)
	}
	o.memory.spending.Spend(p.Changed, start)
	if !trial { // a trial may fail: backends follow the old claims until it succeeds
		o.setBoard(p, p.Leaving)
	}
	stuck, again := o.writeChannels(ctx, itsAddress, p.Hide)
	if stuck > 0 {
		o.giveTurnBack(p)
		return start, nil // plan again: channels that still show the address keep their ports
	}
	refused, err := o.publish(ctx, p)
	o.dropOld(ctx)
	if err != nil || refused {
		o.giveTurnBack(p)
	}
	if err != nil {
		return o.block(ctx, false, err)
	}
	if refused {
		return start, nil
	}
	var kept []plan.Claim
	if trial { // keep the backends of the old claims, or each failed trial would remove and restore them
		kept = notInForce(o.Board.Claims(p.Mux), p.InForce)
	}
	o.setBoard(p, kept)
	later, err := o.settle(ctx, p.Settle)
	if err != nil {
		return o.block(ctx, true, err)
	}
	again = earlier(again, later)
	if len(kept) > 0 || p.Settle != nil {
		o.setBoard(p, nil)
	}
	o.unblock(p)
	_, later = o.writeChannels(ctx, itsStatus, p.Show)
	again = earlier(again, later)
	for _, event := range o.memory.backendEvents.unsent(p.Told) {
		o.tell(o.service, event)
	}
	o.done = true
	if !p.Empty() {
		o.Metrics.Applied(p.Mux, o.Now().Sub(start))
	}
	return again, nil
}

// takeTurn delays the correction of a mux that another writer keeps changing. During the delay the mux is frozen.
func (o *pass) takeTurn(p *plan.Plan) *plan.Plan {
	if p.Publish == nil || o.Print != nil {
		return p
	}
	switch turn := o.paces.Ask(p.Mux, pace.Content(p.Publish.Content), o.Now()); {
	case turn.Wait > 0:
		o.known.ContestedUntil = o.memory.contestedUntil(o.Now().Add(turn.Wait))
		return o.plan(plan.Mux)
	case turn.Drift:
		p.Publish.Events = o.drift(turn, p.Mux, p.Mux, p.Publish.Why)
	}
	return p
}

// drift returns the Event of a correction. Only the first correction of a drift has one.
func (l *Line) drift(turn pace.Turn, mux, object types.NamespacedName, why []string) []plan.Event {
	if !turn.First {
		l.Metrics.Repeated(mux)
		return nil
	}
	return []plan.Event{{Object: object, Reason: plan.MuxDriftCorrected, Message: plan.TextPutRight(why)}}
}

// giveTurnBack tells the pace that the mux wasn't written.
func (l *Line) giveTurnBack(p *plan.Plan) {
	if p.Publish != nil {
		l.paces.Failed(p.Mux)
	}
}

func (o *pass) writeLedger(ctx context.Context, write *plan.LedgerWrite) error {
	if write == nil {
		return nil
	}
	entry, err := o.Ledgers.Write(ctx, write.Ledger, o.entry)
	if err != nil {
		return err
	}
	o.Metrics.Wrote("ledger")
	o.entry, o.world.Ledger = entry, entry.Reading
	return nil
}

// settle writes the ledger after the mux. If another writer keeps undoing the same write, such as a tool that removes
// labels, settle doesn't write yet, and returns when to try again.
func (o *pass) settle(ctx context.Context, write *plan.LedgerWrite) (time.Time, error) {
	if write == nil {
		return time.Time{}, nil
	}
	key, now := paceOfLedger(o.world.Key), o.Now()
	if turn := o.paces.Ask(key, pace.ContentOf(write.Ledger), now); turn.Wait > 0 {
		return now.Add(turn.Wait), nil
	}
	err := o.writeLedger(ctx, write)
	if err != nil {
		o.paces.Failed(key)
	}
	return time.Time{}, err
}

// paceOfLedger is the key of a mux's ledger among the paces. No Service has such a name.
func paceOfLedger(mux types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: mux.Namespace, Name: mux.Name + "/ledger"}
}

// dropOld deletes the former ConfigMap of a moved ledger, once the mux no longer names it. A ConfigMap that can't be
// deleted does no harm.
func (o *pass) dropOld(ctx context.Context) {
	if old := o.entry.Old(); old == "" || o.service.Annotations[o.Language.Keys().Ledger] == old {
		return
	}
	if err := o.Ledgers.DropOld(ctx, o.entry); err != nil {
		o.tell(o.service, plan.Event{Object: o.world.Key, Warning: true, Reason: plan.MuxPatchRefused,
			Message: refusal.Words(err)})
	}
}

// setBoard gives the board the claims that backends follow: the claims in force and, for now, those in kept.
func (o *pass) setBoard(p *plan.Plan, kept []plan.Claim) {
	if o.world.Mux == nil {
		o.Board.Forget(p.Mux)
		return
	}
	claims := append(slices.Clip(p.InForce), kept...)
	var good *plan.Ledger
	if p.Freeze == nil || inForce(&o.world) {
		good = &o.world.Ledger.Ledger
	}
	o.Board.Set(p.Mux, claims, good)
}

// inForce is true for a good ledger that isn't older than the mux's stamp.
func inForce(w *plan.World) bool {
	read := &w.Ledger
	return read.Condition == plan.Good && read.Ledger.Generation > 0 && read.Ledger.Generation >= w.Mux.Generation
}

// notInForce returns the claims whose port names no claim in force has.
func notInForce(claims, inForce []plan.Claim) []plan.Claim {
	names := make(map[string]bool, len(inForce))
	for i := range inForce {
		names[inForce[i].MuxName] = true
	}
	return slices.DeleteFunc(claims, func(c plan.Claim) bool { return names[c.MuxName] })
}

// inParallel calls do with 0 to n-1, at most Parallel calls at a time. It makes all calls even if the pass is cancelled
// meanwhile.
func (l *Line) inParallel(n int, do func(int)) {
	workqueue.ParallelizeUntil(context.Background(), max(l.Parallel, 1), n, do)
}
