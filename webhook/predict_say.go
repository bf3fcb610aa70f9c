package webhook

import (
	admissionv1 "k8s.io/api/admission/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/forecast"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// predicted holds the messages of predictions.
type predicted struct {
	warnings []string
	denied   []validation.Problem
}

// messages returns the messages of predictions. A denial names the conflict; a warning also names the conflict's
// effect.
//
// A forbidden name that external-dns would take from a channel is denied without strict, too. Only admission can keep
// such a name out: external-dns publishes it for the address that the channel has already, or for the target that the
// channel names itself. The reconciler may change neither.
func (p *predictor) messages(predictions []forecast.Prediction) predicted {
	var result predicted
	for i := range predictions {
		prediction := &predictions[i]
		if prediction.Proven && (p.strict || prediction.Reason == plan.HostnameNotAllowed) {
			result.denied = append(result.denied, prediction.Problem)
			p.metrics.predicted(prediction.Reason, Denied)
			continue
		}
		text := prediction.Message
		if prediction.Effect != "" {
			text = prediction.Effect + ": " + text
		}
		result.warnings = append(result.warnings, text)
		p.metrics.predicted(prediction.Reason, Warned)
	}
	return result
}

// isDeletion says that the request deletes a Service. A deletion may get warnings and is never denied.
func isDeletion(req *admissionv1.AdmissionRequest) bool {
	return req.Operation == admissionv1.Delete && ofServices(req)
}

// answerDeletion answers the deletion of a Service.
func answerDeletion(p *predictor, req *admissionv1.AdmissionRequest) Answer {
	answer := allow(req, notRead)
	old, err := decode(req.OldObject)
	if p == nil || err != nil {
		return answer
	}
	answer.Kind = p.kind(old).String()
	answer.Response.Warnings = warnings(validation.Verdict{}, p.messages(p.predict(req, nil)).warnings...)
	return answer
}
