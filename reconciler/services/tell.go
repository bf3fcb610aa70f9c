package services

import (
	"context"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// tell sends an Event about a Service; none if the Service is nil.
func (l *Line) tell(about *corev1.Service, event plan.Event) {
	if about != nil {
		Tell(l.Events, about, event)
	}
}

// Tell sends an Event about a Service.
func Tell(events record.EventRecorder, about *corev1.Service, event plan.Event) {
	events.Event(about, event.Type(), string(event.Reason), event.Note())
}

// tellStanding sends an Event for each lasting problem of the mux, once.
func (o *pass) tellStanding(p *plan.Plan) {
	for _, event := range o.memory.standing.unsent(p.Standing) {
		o.tell(o.service, event)
	}
}

func (l *Line) log(ctx context.Context) logr.Logger { return logr.FromContextOrDiscard(ctx) }
