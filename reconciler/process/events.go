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

// component is what Events say that they come from.
const component = "svc-lb-mux"

// newBroadcaster sends Events to the API server. client-go's bound counts for each object and reason, so that what happens
// often to a mux, such as ports that come and go, doesn't use up what is told rarely; equal ones are counted in one.
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

// teller tells of Services by name alone.
type teller struct {
	cache  client.Reader
	events record.EventRecorder
}

func (t *teller) tell(event plan.Event) {
	var svc corev1.Service
	if err := t.cache.Get(context.Background(), event.Object, &svc); err != nil {
		return // it is gone, and with it whoever would read of it
	}
	mux.Tell(t.events, &svc, event)
}

func eventSource() corev1.EventSource { return corev1.EventSource{Component: component} }

// silent drops Events: a dry run writes nothing at all.
type silent struct{ record.EventRecorder }

func (silent) Event(runtime.Object, string, string, string) {}
