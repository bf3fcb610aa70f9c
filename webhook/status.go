package webhook

import (
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// denial returns the Status of a denial. It contains each problem twice, as a cause and as a line of the message:
// kubectl shows the causes if one object is Invalid. All other clients (kubectl with several objects, Helm, Argo CD,
// client-go's errors) show the message. The API server puts the webhook's name before the message and keeps the rest.
func denial(req *admissionv1.AdmissionRequest, name string, problems []validation.Problem) *metav1.Status {
	status := &metav1.Status{
		Status:  metav1.StatusFailure,
		Details: &metav1.StatusDetails{Kind: req.Kind.Kind, Name: name},
	}
	status.Code, status.Reason = codeOf(req.Operation)
	var lines strings.Builder
	for _, p := range problems {
		text := sentence(p)
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseType(p.Reason), Field: p.Field, Message: text,
		})
		fmt.Fprintf(&lines, "\n* %s: %s", p.Field, text)
	}
	status.Message = fmt.Sprintf("%s %s/%s has %d problems:%s", req.Kind.Kind, req.Namespace, name, len(problems),
		lines.String())
	if len(problems) == 1 {
		status.Message = fmt.Sprintf("%s %s/%s: %s", req.Kind.Kind, req.Namespace, name, lines.String()[len("\n* "):])
	}
	return status
}

// codeOf returns 422 Invalid for a new object: kubectl then prints each cause on a line of its own.
//
// For a change of an existing object it returns 403 Forbidden. To `kubectl apply --force` and similar clients, Invalid
// means "can't be changed in place": they delete the object and create it again. That would take a live channel off its
// mux. The new object would be refused, and so would the old one if its problems were only tolerated. With 403 these
// clients stop. The message names each problem in both cases.
func codeOf(operation admissionv1.Operation) (int32, metav1.StatusReason) {
	if operation == admissionv1.Create {
		return http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	}
	return http.StatusForbidden, metav1.StatusReasonForbidden
}

// sentence returns a problem's message. It leaves out the field at the start of the message if the problem's Field is
// the same field: answers always show Field beside the message.
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
