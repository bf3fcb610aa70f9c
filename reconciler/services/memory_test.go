package services

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

var web = types.NamespacedName{Namespace: "app", Name: "web"}

// TestSetbacksThatWereTriedAreForgotten: a pause that ended in the past would cause passes without end.
func TestSetbacksThatWereTriedAreForgotten(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, w := range []write{{what: notes}, {itsPorts, web}, {itsAddress, web}, {itsStatus, web}} {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			m := newMemory(budget.Limit{})
			first := setback{}.next(began)
			m.setbacks[w] = first
			m.refused[w.channel] = refused{}
			m.setbacks.markDue(began)
			m.dropDue()
			if got := m.setbacks.nextTry(); !got.Equal(first.until) {
				t.Errorf("a setback in its pause is retried at %s", got)
			}
			if _, kept := m.refused[w.channel]; kept != (w.what == itsPorts) {
				t.Errorf("a refusal is kept: %t", kept)
			}
			m.setbacks.markDue(first.until)
			again := setback{}.next(began.Add(-time.Hour)) // it fails again after the clock was set back
			m.setbacks[w] = again
			m.dropDue()
			if got := m.setbacks.nextTry(); !got.Equal(again.until) {
				t.Errorf("a write that failed again is retried at %s", got)
			}
			m.setbacks.markDue(again.until)
			m.dropDue()
			if got := m.setbacks.nextTry(); !got.IsZero() || len(m.refused) > 0 {
				t.Errorf("a setback that was retried is retried at %s again; refused: %v", got, m.refused)
			}
			m.setbacks[w] = again
			m.setbacks.markDue(began.Add(-2 * time.Hour))
			m.dropDue()
			if got := m.setbacks.nextTry(); !got.IsZero() {
				t.Errorf("after the clock was set back, the write is retried at %s", got)
			}
		})
	}
}

func TestPausesGrowToABound(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var s setback
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
		if s = s.next(now); s.until.Sub(now) != want {
			t.Errorf("pause %s, want %s", s.until.Sub(now), want)
		}
	}
	for range 20 {
		s = s.next(now)
	}
	if s.until.Sub(now) != longestPause {
		t.Errorf("the longest pause is %s", s.until.Sub(now))
	}
}

func TestEventIsSentAgainOnlyAfterItsCauseWasGone(t *testing.T) {
	full, bad := plan.Event{Message: "full"}, plan.Event{Message: "bad"}
	var said sentEvents
	for i, step := range []struct {
		events []plan.Event
		news   int
	}{
		{[]plan.Event{full}, 1},
		{[]plan.Event{full}, 0},
		{[]plan.Event{full, bad}, 1},
		{nil, 0},
		{[]plan.Event{full}, 1},
	} {
		if got := said.unsent(step.events); len(got) != step.news {
			t.Errorf("step %d: sends %v", i, got)
		}
	}
}

// TestContestedUntilIsTheSameInEachPass: the Event quotes the time, and would be sent again if the time changed.
func TestContestedUntilIsTheSameInEachPass(t *testing.T) {
	m, end := newMemory(budget.Limit{}), time.Unix(1_000_000, 0)
	for _, step := range []struct{ asked, want time.Duration }{{0, 0}, {99 * time.Millisecond, 0},
		{-99 * time.Millisecond, 0}, {time.Second, time.Second}} {
		if got := m.contestedUntil(end.Add(step.asked)); !got.Equal(end.Add(step.want)) {
			t.Errorf("%s later: until %s", step.asked, got)
		}
	}
}

// TestRefusalEndsOnceTheMuxHasTheNumber: the former leader may still have written the number.
func TestRefusalEndsOnceTheMuxHasTheNumber(t *testing.T) {
	channel := plan.ObservedChannel{Channel: validation.Channel{Object: validation.Object{Key: web}}}
	w := &plan.World{Now: time.Unix(0, 0), Mux: &plan.ObservedMux{}, Channels: []plan.ObservedChannel{channel}}
	m := newMemory(budget.Limit{})
	m.setbacks.failed(write{itsPorts, channel.Key}, w.Now)
	m.refused[channel.Key] = refused{
		request: hashRequest(&channel),
		PatchRefusal: plan.PatchRefusal{Words: "no",
			Slots: []plan.Slot{{Number: 80, Protocol: "TCP"}, {Number: 81, Protocol: "TCP"}}},
	}
	for _, step := range []struct {
		has  int32
		want int
	}{{0, 1}, {80, 1}, {81, 0}} {
		w.Mux.Ports = append(w.Mux.Ports, corev1.ServicePort{Port: step.has, Protocol: "TCP"})
		if in := m.refusals(w); len(in) != step.want {
			t.Errorf("with %d: %v", step.has, in)
		}
	}
}

func TestRefusalEndsWithItsPauseOrItsRequest(t *testing.T) {
	channel := plan.ObservedChannel{Channel: validation.Channel{Object: validation.Object{Key: web}}}
	m, began := newMemory(budget.Limit{}), time.Unix(1_000_000, 0)
	m.setbacks.failed(write{itsPorts, web}, began)
	m.refused[web] = refused{request: hashRequest(&channel),
		PatchRefusal: plan.PatchRefusal{Slots: []plan.Slot{{Number: 80, Protocol: "TCP"}}}}
	edited := channel
	edited.Ports = []validation.ChannelPort{{Name: "http"}}
	for name, test := range map[string]struct {
		channel plan.ObservedChannel
		after   time.Duration
		want    int
	}{
		"in its pause":        {channel, firstPause - 1, 1},
		"after it":            {channel, firstPause, 0},
		"another request":     {edited, 0, 0},
		"another channel":     {plan.ObservedChannel{}, 0, 0},
		"another, after that": {plan.ObservedChannel{}, firstPause, 0},
	} {
		w := &plan.World{Now: began.Add(test.after), Channels: []plan.ObservedChannel{test.channel}}
		if in := m.refusals(w); len(in) != test.want {
			t.Errorf("%s: %v", name, in)
		}
	}
}

// TestWhatIsGoneHasNoPace: tenants may create and delete Services with new names as long as the process lives.
func TestWhatIsGoneHasNoPace(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	line := newLine(t, answering{})
	o := &pass{Line: line, memory: newMemory(budget.Limit{})}
	o.world.Key, o.world.Mux = types.NamespacedName{Namespace: "edge", Name: "mux"}, &plan.ObservedMux{}
	isKnown := func() bool { return line.paces.Ask(web, 1, now).Drift }
	pass := func(channels ...types.NamespacedName) {
		o.world.Channels = nil
		for _, key := range channels {
			var channel plan.ObservedChannel
			channel.Key = key
			o.world.Channels = append(o.world.Channels, channel)
		}
		o.updateMemory(t.Context(), &plan.Plan{})
	}
	isKnown()
	pass(web)
	if !isKnown() {
		t.Error("a channel that is there lost its pace")
	}
	pass()
	if isKnown() {
		t.Error("a channel or listener that a pass doesn't find any more has a pace")
	}
	(outside{line}).onStray(t.Context(), nil,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}}, nil)
	if isKnown() {
		t.Error("a stray that was deleted has a pace")
	}
}
