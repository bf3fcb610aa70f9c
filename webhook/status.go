package webhook

import (
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// denial is the answer's Status. It says everything twice: as causes, and as a line each of the message, because
// kubectl shows the causes of one object that is Invalid, and everybody else (kubectl given several objects, Helm,
// Argo CD, client-go's errors) shows the message. The API server puts the webhook's name before the message and keeps
// the rest.
func denial(operation admissionv1.Operation, namespace, name string, problems []validation.Problem) *metav1.Status {
	status := &metav1.Status{
		Status:  metav1.StatusFailure,
		Details: &metav1.StatusDetails{Kind: "Service", Name: name},
	}
	status.Code, status.Reason = codeOf(operation)
	var lines strings.Builder
	for _, p := range problems {
		text := sentence(p)
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseType(p.Reason), Field: p.Field, Message: text,
		})
		fmt.Fprintf(&lines, "\n* %s: %s", p.Field, text)
	}
	status.Message = fmt.Sprintf("Service %s/%s has %d problems:%s", namespace, name, len(problems), lines.String())
	if len(problems) == 1 {
		status.Message = fmt.Sprintf("Service %s/%s: %s", namespace, name, lines.String()[len("\n* "):])
	}
	return status
}

// codeOf is 422 Invalid for a new object: kubectl then prints each cause on a line of its own.
//
// A change of an object that is there must not be Invalid: `kubectl apply --force`, and others who force as it does,
// take Invalid for "can't be changed in place" and delete the object to create it anew. They would take a live
// channel off its mux, and not get it back: the new one is refused, and so is the old one if it was only tolerated.
// With 403 Forbidden they stop. The message names each problem in both cases.
func codeOf(operation admissionv1.Operation) (int32, metav1.StatusReason) {
	if operation == admissionv1.Create {
		return http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	}
	return http.StatusForbidden, metav1.StatusReasonForbidden
}

// sentence is a problem's message without the part of the object that it begins with, where the field says it too:
// both are always shown together.
func sentence(p validation.Problem) string {
	part, rest, found := strings.Cut(p.Message, ": ")
	if found && (part == p.Field || strings.HasSuffix(p.Field, "/"+part+"]")) {
		return rest
	}
	return p.Message
}

func unreadableStatus(part string, err error) *metav1.Status {
	return &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
		Message: fmt.Sprintf("the review's %s %s", part, shorten(err.Error(), maxErrorText)),
	}
}
