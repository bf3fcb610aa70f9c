package mux

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// maxMessage is Kubernetes' limit for an Event's message.
const maxMessage = 1024

// tell sends an Event about a Service, if there is one.
func (l *Line) tell(about *corev1.Service, event plan.Event) {
	if about != nil {
		Tell(l.Events, about, event)
	}
}

// Tell sends an Event about a Service.
func Tell(events record.EventRecorder, about *corev1.Service, event plan.Event) {
	kind := corev1.EventTypeNormal
	if event.Warning {
		kind = corev1.EventTypeWarning
	}
	message := event.Message
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
	}
	events.Event(about, kind, string(event.Reason), message)
}

// tellStanding sends an Event for each lasting problem of the mux, once.
func (l *Line) tellStanding(o *observed, p *plan.Plan) {
	for _, event := range o.memory.standing.unsent(p.Standing) {
		l.tell(o.service, event)
	}
}

func (l *Line) log(ctx context.Context) logr.Logger { return logr.FromContextOrDiscard(ctx) }
