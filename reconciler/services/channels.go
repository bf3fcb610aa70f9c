package services

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
)

// writeChannels writes channels in parallel. It returns how many writes failed, and when the channels are due that wait
// for their turn. A failed write doesn't affect the others. A channel whose write failed before is skipped until its
// pause is over. For just as long, a plan keeps the ports of a channel that keeps its address. Plan and writes use the
// time at which the pass began, so that they agree even if the clock is set back in between.
func (o *pass) writeChannels(ctx context.Context, kind what, patches []plan.ChannelPatch) (refused int,
	again time.Time) {
	paused := o.memory.setbacks.paused(kind, o.world.Now)
	due, again := o.inTurn(slices.DeleteFunc(slices.Clone(patches), func(patch plan.ChannelPatch) bool {
		return paused[patch.Channel]
	}))
	failed := o.patchChannels(ctx, due)
	o.tellRefused(kind, failed)
	for i := range due {
		if w := (write{kind, due[i].Channel}); failed[w.channel] != nil {
			o.memory.setbacks.failed(w, o.Now())
		} else {
			delete(o.memory.setbacks, w)
		}
	}
	return len(failed), again
}

// inTurn returns the patches that may be written now, and when to try the others: channels that another writer keeps
// changing back wait for their turn.
func (o *pass) inTurn(patches []plan.ChannelPatch) ([]plan.ChannelPatch, time.Time) {
	now := o.Now()
	var again time.Time
	var due []plan.ChannelPatch
	for i := range patches {
		patch := patches[i]
		turn := o.paces.Ask(patch.Channel, pace.Content(patch.Content), now)
		if turn.Wait > 0 {
			again = earlier(again, now.Add(turn.Wait))
			continue
		}
		if turn.Drift {
			patch.Events = o.drift(turn, o.world.Key, patch.Channel, patch.Why)
		}
		due = append(due, patch)
	}
	return due, again
}

// earlier returns the earlier of two times. A zero time doesn't count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// patchChannels writes channels in parallel, and returns the errors by channel.
func (o *pass) patchChannels(ctx context.Context, patches []plan.ChannelPatch) map[types.NamespacedName]error {
	failed := map[types.NamespacedName]error{}
	var mu sync.Mutex
	o.inParallel(len(patches), func(i int) {
		if err := o.patchChannel(ctx, &patches[i]); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed[patches[i].Channel] = err
		}
	})
	for key := range failed {
		o.paces.Failed(key)
	}
	return failed
}

// tellRefused sends an Event about the mux if the API server refuses the status of channels. Channels that failed in an
// earlier pass cause no Event.
func (o *pass) tellRefused(kind what, failed map[types.NamespacedName]error) {
	var fresh []types.NamespacedName
	for key, err := range failed {
		if _, known := o.memory.setbacks[write{kind, key}]; !known && refusal.Is(err) {
			fresh = append(fresh, key)
		}
	}
	if len(fresh) == 0 {
		return
	}
	first := slices.MinFunc(fresh, plan.CompareKeys)
	o.tell(o.service, plan.Event{
		Object: o.world.Key, Warning: true, Reason: plan.MuxPatchRefused,
		Message: textStatusRefused(first, len(fresh)-1, failed[first]),
	})
}

func textStatusRefused(channel types.NamespacedName, others int, why error) string {
	more := ""
	if others > 0 {
		more = fmt.Sprintf(" and of %d more channels", others)
	}
	return fmt.Sprintf("the API server doesn't take the status of channel %s%s; it is tried again until it does: %s",
		channel, more, refusal.Words(why))
}

func (o *pass) patchChannel(ctx context.Context, patch *plan.ChannelPatch) error {
	if !claimants.IsService(patch.Channel) {
		o.Claimants.Show(o.world.Key, patch)
		return nil
	}
	wrote, err := o.patchStatus(ctx, o.channels[patch.Channel], patch)
	if err != nil {
		o.log(ctx).Info("a channel can't be told", "channel", patch.Channel, "error", err.Error())
		return fmt.Errorf("status of channel %s: %w", patch.Channel, err)
	}
	if wrote {
		o.tellProgrammed(patch)
	}
	return nil
}

// patchStatus writes a Service's status, and sends the patch's Events. It returns false for a Service that was deleted,
// or deleted and created again, meanwhile.
func (l *Line) patchStatus(ctx context.Context, svc *corev1.Service, patch *plan.ChannelPatch) (wrote bool, err error) {
	body, err := channelBody(patch, svc.UID, l.Language.Keys())
	if err != nil {
		return false, err
	}
	after := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: svc.Namespace, Name: svc.Name}}
	err = l.Writer.Status().Patch(ctx, after, client.RawPatch(types.StrategicMergePatchType, body))
	if apierrors.IsNotFound(err) || isRecreated(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.Metrics.Wrote("channel")
	l.rememberWrite(after)
	for _, event := range patch.Events {
		l.tell(svc, event)
	}
	return true, nil
}

// tellProgrammed measures how long a channel waited for its first address.
func (o *pass) tellProgrammed(patch *plan.ChannelPatch) {
	if !patch.SetAddress || len(patch.Address) == 0 {
		return
	}
	if last, known := o.memory.read[patch.Channel]; known && len(last.channel.Conditions) == 0 {
		o.Metrics.Programmed(&last.channel)
	}
}
