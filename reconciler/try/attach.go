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

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// pause is the time between two reads. There is no watch, since it would need more rights.
const pause = 300 * time.Millisecond

// tryChannel creates a channel, waits for its port, and deletes it in any case.
func (t *trial) tryChannel(ctx context.Context) (err error) {
	svc := t.service()
	if err := t.Client.Create(ctx, svc); err != nil {
		return fmt.Errorf("make a channel of mux %s in namespace %s: %w", t.Mux, t.Namespace, err)
	}
	key := client.ObjectKeyFromObject(svc)
	t.reportf("made channel %s of mux %s", key, t.Mux)
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
	t.reportf("took the channel away, and its port is off the mux")
	return nil
}

// remove deletes the channel, even if the context has ended.
func (t *trial) remove(ctx context.Context, key types.NamespacedName) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := t.Client.Delete(ctx, svc); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("channel %s is left behind, so delete it by hand: %w", key, err)
	}
	return nil
}

// awaitPort waits until the channel has a port and, if the mux has one, an address. It returns the port's number on the
// mux.
func (t *trial) awaitPort(ctx context.Context, key types.NamespacedName) (int32, error) {
	var number int32
	last := "it has no conditions: is the reconciler running, and does it manage this mux?"
	done, err := t.poll(ctx, func() (bool, error) {
		svc, err := t.get(ctx, key)
		if err != nil || svc == nil {
			return false, errors.Join(err, deletedError(svc, key))
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
		return t.isAttached(svc, accepted, programmed), nil
	})
	if err == nil && !done {
		err = fmt.Errorf("channel %s isn't programmed after %s: %s", key, t.Patience, last)
	}
	return number, err
}

func deletedError(svc *corev1.Service, key types.NamespacedName) error {
	if svc != nil {
		return nil
	}
	return fmt.Errorf("another client deleted channel %s: try again", key)
}

// isFinal says that the refusal stays until an object changes. A mux that was just created may be unknown to
// the reconciler for a moment, so MuxNotFound isn't final.
func isFinal(accepted *metav1.Condition) bool {
	reason := validation.Reason(accepted.Reason)
	return accepted.Status == metav1.ConditionFalse && reason != plan.Waiting && reason != plan.MuxNotFound
}

// isAttached says that the channel has a port and an address, or a port if the mux has no address.
func (t *trial) isAttached(svc *corev1.Service, accepted, programmed *metav1.Condition) bool {
	number := t.public(svc)
	if accepted.Status != metav1.ConditionTrue || number == 0 {
		return false
	}
	if programmed.Status == metav1.ConditionTrue {
		t.reportf("it has %s, port %d/TCP", strings.Join(addresses(svc), " and "), number)
		return true
	}
	if programmed.Reason == string(plan.AddressPending) {
		t.reportf("it has port %d/TCP; the mux has no address from its provider, see the provider's Events and logs", number)
		return true
	}
	return false
}

// public returns the channel's number on the mux; 0 without one.
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

// awaitGone waits until the port is removed from the mux.
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
		err = fmt.Errorf("the channel is gone, but its port %d/TCP is still on mux %s after %s: is the mux frozen? Look at "+
			"its Events", number, t.Mux, t.Patience)
	}
	return err
}

// poll calls condition until it is true. It returns false after Patience.
func (t *trial) poll(ctx context.Context, condition func() (bool, error)) (bool, error) {
	for until := time.Now().Add(t.Patience); ; {
		done, err := condition()
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
