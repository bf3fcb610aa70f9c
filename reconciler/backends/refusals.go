package backends

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxWords bounds the API server's message, which becomes part of a condition.
const maxWords = 300

// wordsOfSlices are reasons, by slice: the API server's message, or that a foreign slice has the name.
type wordsOfSlices = map[types.NamespacedName]string

// isRefusal is true for an answer that stays the same until a person changes the slice, a quota, a policy or a right. An
// admission webhook that can't be reached gives an internal error.
func isRefusal(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonInvalid, metav1.StatusReasonForbidden, metav1.StatusReasonBadRequest,
		metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonInternalError:
		return true
	}
	return false
}

// wordsOf returns the API server's message. It returns the message before if only numbers differ: a quota tells how much of
// it is used, and each count would be a write of the condition.
func wordsOf(err error, before string) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		text = status.Status().Message
	}
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "..."
	}
	if slices.Equal(strings.FieldsFunc(text, unicode.IsDigit), strings.FieldsFunc(before, unicode.IsDigit)) {
		return before
	}
	return text
}
