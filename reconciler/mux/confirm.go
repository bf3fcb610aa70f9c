package mux

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// confirm reads live what a ledger is about to be written from, where a cache that is behind would do harm that the next
// pass can't undo: a number that was let go may be another's by then.
//
//	the ledger has no claims yet    only the mux says who has which number
//	a claim is about to go          the mux may let its owner in again, and the channel ask for the port again
//
// Channels that the cache doesn't show were looked for before it was decided. Whatever else is written from an old cache is
// refused for its resource version, or put right.
func (l *Line) confirm(ctx context.Context, o *observed, writes ...*plan.LedgerWrite) error {
	var losing []types.NamespacedName
	fills := false
	for _, write := range writes {
		if write != nil {
			losing = append(losing, losers(o, write)...)
			fills = fills || len(o.world.Ledger.Ledger.Claims) == 0
		}
	}
	if o.service == nil || !fills && len(losing) == 0 {
		return nil
	}
	slices.SortFunc(losing, plan.CompareKeys)
	if err := l.isSo(ctx, o.world.Key, o.service); err != nil {
		return err
	}
	for _, channel := range slices.Compact(losing) {
		if err := l.isSo(ctx, channel, o.channels[channel]); err != nil {
			return err
		}
	}
	return nil
}

// losers are the channels that the cache shows, and that are to lose a claim.
func losers(o *observed, write *plan.LedgerWrite) []types.NamespacedName {
	type number struct {
		owner  plan.PortID
		public int32
	}
	stays := map[number]bool{}
	for i := range write.Ledger.Claims {
		if claim := &write.Ledger.Claims[i]; claim.State == plan.Held {
			stays[number{claim.Owner, claim.Public}] = true
		}
	}
	var losers []types.NamespacedName
	for i := range o.world.Ledger.Ledger.Claims {
		claim := &o.world.Ledger.Ledger.Claims[i]
		channel := claim.Owner.Channel
		if claim.State == plan.Held && !stays[number{claim.Owner, claim.Public}] && o.channels[channel] != nil {
			losers = append(losers, channel)
		}
	}
	return losers
}

// isSo is nil if a Service asks for, and shows, the same as where it was decided from: an address that the cache doesn't show
// couldn't be taken off before the ports go.
func (l *Line) isSo(ctx context.Context, key types.NamespacedName, seen *corev1.Service) error {
	var live corev1.Service
	switch err := l.Live.Get(ctx, key, &live); {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("service %s: %w", key, errBehind)
	case err != nil:
		return fmt.Errorf("service %s, before claims are written: %w", key, err)
	}
	Trim(&live, l.Language)
	shows := equality.Semantic.DeepEqual(live.Status.LoadBalancer, seen.Status.LoadBalancer)
	if keys := l.Language.Keys(); !shows || essence(&live, keys) != essence(seen, keys) {
		return fmt.Errorf("service %s: %w", key, errBehind)
	}
	return nil
}
