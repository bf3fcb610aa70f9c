package webhook

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"nowake.ai/svc-lb-mux/validation"
)

// Answer is the result of one request. Only the response is sent; the other fields are for metrics and logs.
type Answer struct {
	Response *admissionv1.AdmissionResponse
	// Kind is the Service's kind, aRoute, or notRead.
	Kind string
	// Namespace and Name are the object's.
	Namespace, Name string
	// Reasons are the reasons of a denial, sorted, without duplicates.
	Reasons []string
}

// Decision is the result for metrics.
type Decision string

// The decisions.
const (
	Allowed Decision = "allowed"
	Warned  Decision = "warned" // allowed, with warnings
	Denied  Decision = "denied"
)

// notRead is the kind in an answer for which no object was decoded: the request isn't judged, it is a deletion without
// predictions, or the object can't be decoded.
const notRead = "unread"

// reasonUnreadable is the reason of a denial for an object that can't be decoded. API servers don't send such a
// request.
const reasonUnreadable = "Unreadable"

// Decision returns the decision of the answer.
func (a Answer) Decision() Decision {
	switch {
	case !a.Response.Allowed:
		return Denied
	case len(a.Response.Warnings) > 0:
		return Warned
	}
	return Allowed
}

// Review answers a request. It judges a Service that is created or updated, and a route that asks for a number, and
// allows any other request. A dry run gets the same answer.
//
// It decodes an old Service only if the new one has problems.
func Review(lang validation.Language, req *admissionv1.AdmissionRequest) Answer {
	return review(lang, nil, nil, req)
}

// review is Review with predictions, which it asks for only if the rules deny nothing.
func review(lang validation.Language, predictor *predictor, served served, req *admissionv1.AdmissionRequest) Answer {
	if isDeletion(req) {
		return answerDeletion(predictor, req)
	}
	if isRouteChange(req) {
		return reviewRoute(lang, predictor, served, req)
	}
	if !isJudged(req) {
		return allow(req, notRead)
	}
	svc, err := decode(req.Object)
	if err != nil {
		return unreadable(req, "object", err)
	}
	if svc.DeletionTimestamp != nil {
		return allow(req, lang.Classify(svc).String()) // a Service being deleted only loses finalizers
	}
	verdict := lang.Review(nil, svc)
	if len(verdict.Denied) > 0 && req.Operation == admissionv1.Update {
		old, err := decode(req.OldObject)
		if err != nil {
			return unreadable(req, "oldObject", err)
		}
		verdict = lang.Review(old, svc)
	}
	var predicted predicted
	if len(verdict.Denied) == 0 {
		predictions := predictor.predict(req, svc)
		verdict.Warnings = slices.DeleteFunc(verdict.Warnings, func(p validation.Problem) bool {
			return predictor.knows(p.Reason, svc, predictions)
		})
		predicted = predictor.messages(predictions)
		predicted.warnings = append(served.warnings(lang, svc), predicted.warnings...)
	}
	return answerOf(req, svc, verdict, predicted)
}

// isJudged says that the request creates or updates a Service. review has answered deletions and routes before. API
// servers send other requests only if somebody edits the webhook's rules or matchConditions; they must be allowed.
func isJudged(req *admissionv1.AdmissionRequest) bool {
	return (req.Operation == admissionv1.Create || req.Operation == admissionv1.Update) && ofServices(req)
}

func ofServices(req *admissionv1.AdmissionRequest) bool {
	return req.Resource.Group == "" && req.Resource.Resource == "services" && req.SubResource == "" &&
		req.Kind.Group == "" && req.Kind.Kind == "Service"
}

func decode(object runtime.RawExtension) (*corev1.Service, error) {
	if len(object.Raw) == 0 || string(object.Raw) == "null" {
		return nil, fmt.Errorf("is missing: expected a Service")
	}
	svc := &corev1.Service{}
	if err := json.Unmarshal(object.Raw, svc); err != nil {
		return nil, fmt.Errorf("is not a Service: %w", err)
	}
	return svc, nil
}

func allow(req *admissionv1.AdmissionRequest, kind string) Answer {
	return Answer{
		Response: &admissionv1.AdmissionResponse{UID: req.UID, Allowed: true},
		Kind:     kind, Namespace: req.Namespace, Name: req.Name,
	}
}

func answerOf(req *admissionv1.AdmissionRequest, svc *corev1.Service, verdict validation.Verdict,
	predicted predicted) Answer {
	answer := allow(req, verdict.Kind.String())
	if answer.Name == "" {
		answer.Name = nameOf(svc)
	}
	answer.Response.Warnings = warnings(verdict, predicted.warnings...)
	if denied := append(verdict.Denied, predicted.denied...); len(denied) > 0 {
		answer.Response.Allowed = false
		answer.Response.Result = denial(req, answer.Name, denied)
		answer.Reasons = reasons(denied)
	}
	return answer
}

// nameOf returns the object's name for a request without a name. If the API server hasn't generated the object's name
// yet, the result is the name's prefix and a star.
func nameOf(svc *corev1.Service) string {
	if svc.Name == "" && svc.GenerateName != "" {
		return svc.GenerateName + "*"
	}
	return svc.Name
}

func unreadable(req *admissionv1.AdmissionRequest, part string, err error) Answer {
	answer := allow(req, notRead)
	answer.Response.Allowed = false
	answer.Response.Result = unreadableStatus(part, err)
	answer.Reasons = []string{reasonUnreadable}
	return answer
}

func reasons(problems []validation.Problem) []string {
	all := make([]string, 0, len(problems))
	for _, p := range problems {
		all = append(all, string(p.Reason))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
