package run

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/services"
)

// newBroadcaster sends Events to the API server. client-go's rate limit applies to each object and reason separately.
// So frequent Events of a mux, such as changed ports, don't use up the limit of rare ones. Equal Events are merged into
// one with a count.
func newBroadcaster(set kubernetes.Interface) record.EventBroadcaster {
	broadcaster := record.NewBroadcaster(record.WithSleepDuration(time.Second),
		record.WithCorrelatorOptions(record.CorrelatorOptions{
			SpamKeyFunc: func(event *corev1.Event) string {
				return event.InvolvedObject.Namespace + "/" + event.InvolvedObject.Name + "/" + event.Reason
			},
		}))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: set.CoreV1().Events("")})
	return broadcaster
}

// tell returns a function that emits Events for Services by name.
func tell(cache client.Reader, events record.EventRecorder) func(plan.Event) {
	return func(event plan.Event) {
		var svc corev1.Service
		if err := cache.Get(context.Background(), event.Object, &svc); err != nil {
			return // the Service is gone, so its Events have no readers
		}
		services.Tell(events, &svc, event)
	}
}

// silentRecorder drops Events: a dry run writes nothing.
type silentRecorder struct{ record.EventRecorder }

func (silentRecorder) Event(runtime.Object, string, string, string) {}
