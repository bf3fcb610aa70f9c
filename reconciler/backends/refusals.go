package backends

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Refusals holds the slices that the API server doesn't take, by channel. This line writes it. The mux line reads it for
// the condition BackendsReady. Its zero value is empty.
type Refusals struct {
	mu       sync.Mutex
	changed  func(channel, mux types.NamespacedName)
	channels map[types.NamespacedName]wordsOfSlices
}

// wordsOfSlices are the API server's words, by slice.
type wordsOfSlices = map[types.NamespacedName]string

// Notify has changed called whenever Of returns something else for a channel of a mux.
func (r *Refusals) Notify(changed func(channel, mux types.NamespacedName)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = changed
}

// Of returns what the API server says of the first of a channel's refused slices; empty if none is refused.
func (r *Refusals) Of(channel types.NamespacedName) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first(channel)
}

func (r *Refusals) first(channel types.NamespacedName) string {
	refused := r.channels[channel]
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
	before := r.first(channel)
	if r.channels == nil {
		r.channels = map[types.NamespacedName]wordsOfSlices{}
	}
	r.channels[channel] = now
	if len(now) == 0 {
		delete(r.channels, channel)
	}
	differs, changed := r.first(channel) != before, r.changed
	r.mu.Unlock()
	if differs && changed != nil {
		changed(channel, mux)
	}
}

// isRefusal is true for an answer that stays the same until a person changes the slice, a quota, a policy or a right. An
// admission webhook that can't be reached is an internal error.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status().Reason {
	case metav1.StatusReasonInvalid, metav1.StatusReasonForbidden, metav1.StatusReasonBadRequest,
		metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonInternalError:
		return true
	}
	return false
}

// wordsOf returns the API server's message, cut to what a condition holds. A message that only has other numbers than
// before is none: a quota tells how much of it is used, and each count would be a write of the condition.
func wordsOf(err error, before string) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		text = status.Status().Message
	}
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "..."
	}
	if before != "" && withoutDigits(text) == withoutDigits(before) {
		return before
	}
	return text
}

const maxWords = 300

func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}
