package try

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// pause is how long to wait between two looks. There is no watch, for which more rights would be needed.
const pause = 300 * time.Millisecond

// attach makes a channel, and takes it away again whatever came of it.
func (t *trial) attach(ctx context.Context) (err error) {
	svc := t.service()
	if err := t.Client.Create(ctx, svc); err != nil {
		return fmt.Errorf("make a channel of mux %s in namespace %s: %w", t.Mux, t.Namespace, err)
	}
	key := client.ObjectKeyFromObject(svc)
	t.say("made channel %s of mux %s", key, t.Mux)
	defer func() {
		if err != nil {
			err = errors.Join(err, t.remove(ctx, key))
		}
	}()
	number, err := t.awaitPort(ctx, key)
	if err != nil {
		return err
	}
	if err := t.remove(ctx, key); err != nil {
		return err
	}
	if err := t.awaitGone(ctx, number); err != nil {
		return err
	}
	t.say("took the channel away, and its port is off the mux")
	return nil
}

// remove deletes the channel, also when the process is told to end.
func (t *trial) remove(ctx context.Context, key types.NamespacedName) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := t.Client.Delete(ctx, svc); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("channel %s is left behind, so delete it by hand: %w", key, err)
	}
	return nil
}

// awaitPort waits until the channel has all that the mux can give, and returns its number there.
func (t *trial) awaitPort(ctx context.Context, key types.NamespacedName) (int32, error) {
	var number int32
	last := "nobody has said anything of it: is the reconciler running, and does it look after this mux?"
	done, err := t.poll(ctx, func() (bool, error) {
		svc, err := t.get(ctx, key)
		if err != nil || svc == nil {
			return false, errors.Join(err, gone(svc, key))
		}
		accepted := meta.FindStatusCondition(svc.Status.Conditions, t.Language.Keys().Accepted)
		programmed := meta.FindStatusCondition(svc.Status.Conditions, t.Language.Keys().Programmed)
		if accepted == nil || programmed == nil {
			return false, nil
		}
		if last = accepted.Message; accepted.Status == metav1.ConditionTrue {
			last = programmed.Message
		}
		if isFinal(accepted) {
			return false, fmt.Errorf("channel %s was refused: %s: %s", key, accepted.Reason, accepted.Message)
		}
		number = t.public(svc)
		return t.has(svc, accepted, programmed), nil
	})
	if err == nil && !done {
		err = fmt.Errorf("channel %s isn't programmed after %s: %s", key, t.Patience, last)
	}
	return number, err
}

func gone(svc *corev1.Service, key types.NamespacedName) error {
	if svc != nil {
		return nil
	}
	return fmt.Errorf("channel %s was deleted by somebody else: try again", key)
}

// isFinal is false for what may change by itself in a moment: the reconciler may not know yet of a mux that was just
// made.
func isFinal(accepted *metav1.Condition) bool {
	reason := validation.Reason(accepted.Reason)
	return accepted.Status == metav1.ConditionFalse && reason != plan.Waiting && reason != plan.MuxNotFound
}

// has is true for a channel with a port and an address, or with a port of a mux that has no address itself.
func (t *trial) has(svc *corev1.Service, accepted, programmed *metav1.Condition) bool {
	number := t.public(svc)
	if accepted.Status != metav1.ConditionTrue || number == 0 {
		return false
	}
	if programmed.Status == metav1.ConditionTrue {
		t.say("it has %s, port %d/TCP", strings.Join(addresses(svc), " and "), number)
		return true
	}
	if programmed.Reason == string(plan.AddressPending) {
		t.say("it has port %d/TCP; the mux has no address from its provider, which is for the provider to mend", number)
		return true
	}
	return false
}

// public is the channel's number on the mux; 0 if it has none.
func (t *trial) public(svc *corev1.Service) int32 {
	mappings, ok := validation.ParsePorts(svc.Annotations[t.Language.Keys().Ports])
	if !ok || len(mappings) != 1 {
		return 0
	}
	return mappings[0].Public
}

func addresses(svc *corev1.Service) []string {
	var list []string
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		list = append(list, ingress.IP+ingress.Hostname)
	}
	return list
}

// awaitGone waits until the mux has no such port any more.
func (t *trial) awaitGone(ctx context.Context, number int32) error {
	done, err := t.poll(ctx, func() (bool, error) {
		mux, err := t.get(ctx, t.Mux)
		if err != nil || mux == nil {
			return mux == nil, err
		}
		return !slices.ContainsFunc(mux.Spec.Ports, func(p corev1.ServicePort) bool {
			return p.Port == number && p.Protocol == corev1.ProtocolTCP
		}), nil
	})
	if err == nil && !done {
		err = fmt.Errorf("the channel is gone, and its port %d/TCP is on mux %s still after %s: is the mux frozen? Look at its "+
			"Events", number, t.Mux, t.Patience)
	}
	return err
}

// poll looks until it is so, or patience ends, of which it returns false.
func (t *trial) poll(ctx context.Context, so func() (bool, error)) (bool, error) {
	for until := time.Now().Add(t.Patience); ; {
		done, err := so()
		if done || err != nil || time.Now().After(until) {
			return done, err
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("told to end: %w", context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}
