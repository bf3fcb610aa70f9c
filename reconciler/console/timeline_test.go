package console

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/services"
)

// silence drops Events and metrics.
type silence struct {
	record.EventRecorder
	services.Metrics
}

func (silence) Event(runtime.Object, string, string, string) {}
func (silence) Decided(*plan.Plan, time.Duration)            {}
func (silence) Applied(types.NamespacedName, time.Duration)  {}

func publish(why string) *plan.Plan {
	return &plan.Plan{Mux: muxKey, Publish: &plan.MuxPatch{Why: []string{why}}}
}

func TestTimeline(t *testing.T) {
	clock := &clock{at: time.Unix(0, 0)}
	line := NewTimeline(clock.now)
	metrics, events := line.Metrics(silence{}), line.Events(silence{})

	metrics.Decided(&plan.Plan{Mux: muxKey}, 0) // a plan without steps isn't recorded
	metrics.Decided(publish("adds 80/TCP"), 0)
	metrics.Decided(publish("adds 80/TCP"), 0) // this plan isn't applied
	metrics.Applied(muxKey, 0)
	metrics.Decided(publish("adds 80/TCP"), 0) // the same plan is applied now
	events.Event(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, corev1.EventTypeWarning,
		"MuxNotFound", "there is none")

	step := []view.Step{{Verb: "publish on", Object: "svc-mux/mux", Why: []string{"adds 80/TCP"}}}
	want := []Entry{
		{ID: 1, Kind: "decision", Mux: "svc-mux/mux", Steps: step, Writes: 1, Done: true, Times: 2},
		{ID: 2, Kind: "decision", Mux: "svc-mux/mux", Steps: step, Writes: 1, Times: 1},
		{ID: 3, Kind: "event", Object: "shop/web", Warning: true, Reason: "MuxNotFound", Message: "there is none"},
	}
	got, changes := line.Since(0)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Entry{}, "At", "changed")); diff != "" {
		t.Error(diff)
	}
	metrics.Applied(muxKey, 0)
	if got, _ := line.Since(changes); len(got) != 1 || got[0].ID != 2 || !got[0].Done {
		t.Errorf("the last change is %+v", got)
	}
}

func TestTimelineIsBounded(t *testing.T) {
	line := NewTimeline(time.Now)
	metrics := line.Metrics(silence{})
	metrics.Decided(publish("long ago"), 0)
	for i := range 3 * maxEntries {
		line.emitted(&corev1.Service{}, corev1.EventTypeNormal, "Reason", fmt.Sprint(i))
	}
	metrics.Applied(muxKey, 0) // this entry was dropped already
	got, _ := line.Since(0)
	if len(got) > maxEntries || got[len(got)-1].Message != fmt.Sprint(3*maxEntries-1) {
		t.Errorf("%d entries, the last one is %+v", len(got), got[len(got)-1])
	}
}
