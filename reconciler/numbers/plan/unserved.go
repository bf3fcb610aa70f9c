package plan

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Server is a reconciler that serves the muxes of some namespaces only.
type Server struct {
	// Name distinguishes the reconciler from others.
	Name       string
	Namespaces []string
}

// Unserved returns a patch with the conditions of a channel whose mux the server doesn't serve. It returns nil if the
// channel has them already, is being deleted, or has a condition of another writer, because another reconciler may
// serve that mux.
func Unserved(keys validation.Keys, c *ObservedChannel, mux types.NamespacedName, by Server,
	now time.Time) *ChannelPatch {
	said := meta.FindStatusCondition(c.Conditions, keys.Accepted)
	message := textUnserved(mux, by)
	if c.Deleting || said != nil && (!isUnserved(said, by) || said.Message == message) {
		return nil
	}
	accepted, programmed := condition(keys.Accepted, false, MuxNotServed, message), condition(keys.Programmed, false,
		NotAccepted, textNotProgrammed())
	patch := &ChannelPatch{
		Channel: c.Key, ResourceVersion: c.ResourceVersion,
		Why:    []string{textCondition(accepted), textCondition(programmed)},
		Events: []Event{{Object: c.Key, Warning: true, Reason: MuxNotServed, Message: message}},
	}
	for _, is := range [...]metav1.Condition{accepted, programmed} {
		is.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
		if before := meta.FindStatusCondition(c.Conditions, is.Type); before != nil && before.Status == is.Status {
			is.LastTransitionTime = before.LastTransitionTime
		}
		patch.Conditions = append(patch.Conditions, is)
	}
	return patch
}

// UnservedMux returns the Event for a mux that the server doesn't serve.
func UnservedMux(mux types.NamespacedName, by Server) Event {
	return Event{Object: mux, Warning: true, Reason: MuxNotServed, Message: textUnservedMux(mux, by)}
}

// MuxServedBefore returns the Event for a mux that this or another reconciler served, and that this one doesn't serve
// now.
func MuxServedBefore(mux types.NamespacedName, by Server) Event {
	return Event{Object: mux, Reason: MuxNotServed, Message: textServedBefore(mux, by)}
}

// NoLongerUnserved returns a patch that removes the conditions that Unserved set, or nil.
func NoLongerUnserved(keys validation.Keys, c *ObservedChannel, by Server) *ChannelPatch {
	if said := meta.FindStatusCondition(c.Conditions, keys.Accepted); said == nil || !isUnserved(said, by) {
		return nil
	}
	patch := Stray(keys, c)
	patch.ResourceVersion = c.ResourceVersion
	return patch
}

// isUnserved is true for a condition that this server set by Unserved.
func isUnserved(said *metav1.Condition, by Server) bool {
	return said.Reason == string(MuxNotServed) && strings.HasPrefix(said.Message, textServer(by))
}
