package webhook

import (
	admissionv1 "k8s.io/api/admission/v1"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// foreseen is what is to be said of predictions.
type foreseen struct {
	warnings []string
	denied   []validation.Problem
}

// say turns predictions into words. A denial says what stands in the way; a warning also what it comes to.
func (f *foresight) say(predictions []plan.Prediction) foreseen {
	var said foreseen
	for i := range predictions {
		p := &predictions[i]
		if f.strict && p.Proven {
			said.denied = append(said.denied, p.Problem)
			f.metrics.told(p.Reason, Denied)
			continue
		}
		text := p.Message
		if p.Effect != "" {
			text = p.Effect + ": " + text
		}
		said.warnings = append(said.warnings, text)
		f.metrics.told(p.Reason, Warned)
	}
	return said
}

// deletes is true for the deletion of a Service, which may be warned of and never is denied.
func deletes(req *admissionv1.AdmissionRequest) bool {
	return req.Operation == admissionv1.Delete && ofServices(req)
}

// deletion answers one.
func deletion(f *foresight, req *admissionv1.AdmissionRequest) Answer {
	answer := pass(req, notRead)
	old, err := decode(req.OldObject)
	if f == nil || err != nil {
		return answer
	}
	answer.Kind = f.kind(old).String()
	answer.Response.Warnings = warnings(validation.Verdict{}, f.say(f.of(req, nil)).warnings...)
	return answer
}
