package process

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/mux"
	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// component is the source of our Events.
const component = "svc-lb-mux"

// newBroadcaster sends Events to the API server. client-go's rate limit applies to each object and reason separately.
// So frequent Events of a mux, such as changed ports, don't use up the limit of rare ones. Equal Events are merged into
// one with a count.
func newBroadcaster(config *rest.Config) (record.EventBroadcaster, error) {
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	broadcaster := record.NewBroadcaster(record.WithSleepDuration(time.Second), record.WithCorrelatorOptions(record.CorrelatorOptions{
		SpamKeyFunc: func(event *corev1.Event) string {
			return event.InvolvedObject.Namespace + "/" + event.InvolvedObject.Name + "/" + event.Reason
		},
	}))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: set.CoreV1().Events("")})
	return broadcaster, nil
}

// eventEmitter emits Events for Services by name.
type eventEmitter struct {
	cache  client.Reader
	events record.EventRecorder
}

func (t *eventEmitter) emit(event plan.Event) {
	var svc corev1.Service
	if err := t.cache.Get(context.Background(), event.Object, &svc); err != nil {
		return // the Service is gone, so its Events have no readers
	}
	mux.Tell(t.events, &svc, event)
}

func eventSource() corev1.EventSource { return corev1.EventSource{Component: component} }

// silentRecorder drops Events: a dry run writes nothing.
type silentRecorder struct{ record.EventRecorder }

func (silentRecorder) Event(runtime.Object, string, string, string) {}
