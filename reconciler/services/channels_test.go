package services

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// repeatCounter counts corrections.
type repeatCounter struct {
	Metrics
	repeated map[types.NamespacedName]int
}

func (t repeatCounter) Repeated(mux types.NamespacedName) { t.repeated[mux]++ }

// TestOnlyCorrectionsAfterTheFirstAreCounted: the first correction is an Event, and a waiting correction isn't counted.
func TestOnlyCorrectionsAfterTheFirstAreCounted(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	counts := repeatCounter{repeated: map[types.NamespacedName]int{}}
	mux := types.NamespacedName{Namespace: "infra", Name: "mux"}
	o := &pass{Line: New(Options{Metrics: counts, Now: func() time.Time { return now }}), world: plan.World{Key: mux}}
	told := 0
	for i, after := range []time.Duration{0, time.Second, time.Second, 0, 2 * time.Second} {
		now = now.Add(after)
		patches := []plan.ChannelPatch{
			{Channel: types.NamespacedName{Namespace: "shop", Name: "changed-back"}, Content: 7},
			{Channel: types.NamespacedName{Namespace: "shop", Name: "edited"}, Content: uint64(i)},
		}
		due, again := o.inTurn(patches)
		if wait := i == 3; (len(due) == 1) != wait || again.IsZero() == wait {
			t.Errorf("pass %d: %d channels may be written, the next at %s", i, len(due), again)
		}
		for _, patch := range due {
			told += len(patch.Events)
		}
	}
	if got := counts.repeated[mux]; got != 2 || len(counts.repeated) != 1 || told != 1 {
		t.Errorf("counted %v, want 2 of %s; %d Events, want 1", counts.repeated, mux, told)
	}
}

// waitCounter counts channels whose first address is measured.
type waitCounter struct {
	Metrics
	channels []types.NamespacedName
}

func (c *waitCounter) Programmed(channel *plan.ObservedChannel) {
	c.channels = append(c.channels, channel.Key)
}

// TestTheFirstAddressIsMeasuredOnce: a channel that has conditions already may have lost its address and got it back.
func TestTheFirstAddressIsMeasuredOnce(t *testing.T) {
	counts := &waitCounter{}
	o := &pass{Line: New(Options{Metrics: counts, Now: time.Now}), memory: newMemory(budget.Limit{})}
	fresh, told := types.NamespacedName{Name: "new"}, types.NamespacedName{Name: "told"}
	for _, key := range []types.NamespacedName{fresh, told} {
		channel := plan.ObservedChannel{Channel: validation.Channel{Object: validation.Object{Key: key}}}
		if key == told {
			channel.Conditions = []metav1.Condition{{Type: "Accepted"}}
		}
		o.memory.read[key] = reading{channel: channel}
	}
	address := []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	for _, patch := range []plan.ChannelPatch{
		{Channel: fresh, SetAddress: true, Address: address},
		{Channel: fresh, SetAddress: true},
		{Channel: fresh, Address: address},
		{Channel: told, SetAddress: true, Address: address},
		{Channel: types.NamespacedName{Name: "unknown"}, SetAddress: true, Address: address},
	} {
		o.tellProgrammed(&patch)
	}
	if len(counts.channels) != 1 || counts.channels[0] != fresh {
		t.Errorf("measured %v", counts.channels)
	}
}
