// Package refusal distinguishes the API server's refusals from trouble that passes, and quotes them for people.
package refusal

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Is is true for an answer that stays the same until a person changes an object, a quota, a policy or a right. A busy
// or failing API server refuses nothing, so nobody is blamed for that.
func Is(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonInvalid, metav1.StatusReasonForbidden, metav1.StatusReasonBadRequest,
		metav1.StatusReasonRequestEntityTooLarge:
		return true
	}
	return OutOfNodePorts(err)
}

// OutOfNodePorts is true if the cluster has too few free node ports. The API server reports an internal error, and only
// its message tells the cause.
func OutOfNodePorts(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed to allocate a nodePort")
}

// maxWords has room for a refusal by the chart's own policies: their last words name the chart value that helps.
const maxWords = 600

// Words returns the API server's message without our own error text, cut to maxWords.
func Words(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		text = status.Status().Message
	}
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "..."
	}
	return text
}

// SameWords is true if people learn nothing new from the second message. Words with digits don't count: a used quota or
// a request's number changes with each try.
func SameWords(a, b string) bool { return slices.Equal(withoutNumbers(a), withoutNumbers(b)) }

func withoutNumbers(text string) []string {
	return slices.DeleteFunc(strings.Fields(text), func(word string) bool {
		return strings.ContainsFunc(word, unicode.IsDigit)
	})
}
