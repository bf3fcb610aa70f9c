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

// Answer is what is said to one request. Its response goes out; the rest is for those who count and log.
type Answer struct {
	Response *admissionv1.AdmissionResponse
	// Kind is what the Service is to us, or notRead.
	Kind string
	// Namespace and Name are the object's.
	Namespace, Name string
	// Reasons are those of a denial, each once, sorted.
	Reasons []string
}

// Decision is how an answer counts.
type Decision string

// The decisions.
const (
	Allowed Decision = "allowed"
	Warned  Decision = "warned" // allowed, with something to say
	Denied  Decision = "denied"
)

// notRead is the kind of an object that nobody had to look at, such as one that is deleted, or that nobody could read.
const notRead = "unread"

// reasonUnreadable is a denial's reason where no Service could be read. No API server sends such a request.
const reasonUnreadable = "Unreadable"

// Decision says which of the three it is.
func (a Answer) Decision() Decision {
	switch {
	case !a.Response.Allowed:
		return Denied
	case len(a.Response.Warnings) > 0:
		return Warned
	}
	return Allowed
}

// Review judges a request: a Service created or updated by the language, anything else passes. A dry run is answered
// as the real thing would be.
//
// The old object is decoded only if the new one has problems: nothing else depends on it.
func Review(lang validation.Language, req *admissionv1.AdmissionRequest) Answer {
	return review(lang, nil, nil, req)
}

// review asks what is foreseen too, once nothing else is wrong.
func review(lang validation.Language, foresight *foresight, served served, req *admissionv1.AdmissionRequest) Answer {
	if deletes(req) {
		return deletion(foresight, req)
	}
	if !concerns(req) {
		return pass(req, notRead)
	}
	svc, err := decode(req.Object)
	if err != nil {
		return unreadable(req, "object", err)
	}
	if svc.DeletionTimestamp != nil {
		return pass(req, lang.Classify(svc).String()) // it only loses finalizers now
	}
	verdict := lang.Review(nil, svc)
	if len(verdict.Denied) > 0 && req.Operation == admissionv1.Update {
		old, err := decode(req.OldObject)
		if err != nil {
			return unreadable(req, "oldObject", err)
		}
		verdict = lang.Review(old, svc)
	}
	var also foreseen
	if len(verdict.Denied) == 0 {
		also = foresight.say(foresight.of(req, svc))
		also.warnings = append(served.warnings(lang, svc), also.warnings...)
	}
	return say(req, svc, verdict, also)
}

// concerns is true for what the language is about. The webhook's rules and matchConditions let nothing else through;
// where they are edited, it still must pass.
func concerns(req *admissionv1.AdmissionRequest) bool {
	return (req.Operation == admissionv1.Create || req.Operation == admissionv1.Update) && ofServices(req)
}

func ofServices(req *admissionv1.AdmissionRequest) bool {
	return req.Resource.Group == "" && req.Resource.Resource == "services" && req.SubResource == "" &&
		req.Kind.Group == "" && req.Kind.Kind == "Service"
}

func decode(object runtime.RawExtension) (*corev1.Service, error) {
	if len(object.Raw) == 0 || string(object.Raw) == "null" {
		return nil, fmt.Errorf("is missing: a Service is expected")
	}
	svc := &corev1.Service{}
	if err := json.Unmarshal(object.Raw, svc); err != nil {
		return nil, fmt.Errorf("is not a Service: %w", err)
	}
	return svc, nil
}

func pass(req *admissionv1.AdmissionRequest, kind string) Answer {
	return Answer{
		Response: &admissionv1.AdmissionResponse{UID: req.UID, Allowed: true},
		Kind:     kind, Namespace: req.Namespace, Name: req.Name,
	}
}

func say(req *admissionv1.AdmissionRequest, svc *corev1.Service, verdict validation.Verdict, also foreseen) Answer {
	answer := pass(req, verdict.Kind.String())
	if answer.Name == "" {
		answer.Name = nameOf(svc)
	}
	answer.Response.Warnings = warnings(verdict, also.warnings...)
	if denied := append(verdict.Denied, also.denied...); len(denied) > 0 {
		answer.Response.Allowed = false
		answer.Response.Result = denial(req.Operation, answer.Namespace, answer.Name, denied)
		answer.Reasons = reasons(denied)
	}
	return answer
}

// nameOf is for a request that names no object. An API server has made a name up by then; where it hasn't, people know
// the object by what its name will begin with.
func nameOf(svc *corev1.Service) string {
	if svc.Name == "" && svc.GenerateName != "" {
		return svc.GenerateName + "*"
	}
	return svc.Name
}

func unreadable(req *admissionv1.AdmissionRequest, part string, err error) Answer {
	answer := pass(req, notRead)
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
