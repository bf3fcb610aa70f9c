package backends

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// maxWords bounds the API server's message, which becomes part of a condition.
const maxWords = 300

// Refusals holds the slices that can't be written, by channel. This line writes it. The mux line reads it for the condition
// BackendsReady. Its zero value is empty.
type Refusals struct {
	mu       sync.Mutex
	changed  func(channel, mux types.NamespacedName)
	channels map[types.NamespacedName]wordsOfSlices
}

// wordsOfSlices are reasons, by slice: the API server's message, or that a foreign slice has the name.
type wordsOfSlices = map[types.NamespacedName]string

// Notify sets a function that is called when Of returns something else for a channel of a mux.
func (r *Refusals) Notify(changed func(channel, mux types.NamespacedName)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = changed
}

// Of returns the reason for the first of a channel's refused slices; empty if none is refused.
func (r *Refusals) Of(channel types.NamespacedName) string { return first(r.of(channel)) }

func first(refused wordsOfSlices) string {
	if len(refused) == 0 {
		return ""
	}
	return refused[slices.MinFunc(slices.Collect(maps.Keys(refused)), plan.CompareKeys)]
}

// of returns the refused slices of a channel. The caller must not change them.
func (r *Refusals) of(channel types.NamespacedName) wordsOfSlices {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.channels[channel]
}

// set replaces a channel's refused slices.
func (r *Refusals) set(channel, mux types.NamespacedName, now wordsOfSlices) {
	r.mu.Lock()
	before := first(r.channels[channel])
	if r.channels == nil {
		r.channels = map[types.NamespacedName]wordsOfSlices{}
	}
	r.channels[channel] = now
	if len(now) == 0 {
		delete(r.channels, channel)
	}
	changed := r.changed
	r.mu.Unlock()
	if changed != nil && first(now) != before {
		changed(channel, mux)
	}
}

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
