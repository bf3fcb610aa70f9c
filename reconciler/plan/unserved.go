package plan

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Server is a reconciler that looks after the muxes of some namespaces only.
type Server struct {
	// Name tells it from others, which may look after other muxes.
	Name       string
	Namespaces []string
}

// Unserved tells a channel that its mux isn't one that the server looks after; nil if there is nothing to tell. Another
// reconciler may look after that mux: what anybody else has told the channel stays, and counts.
func Unserved(keys validation.Keys, c *ObservedChannel, mux types.NamespacedName, by Server, now time.Time) *ChannelPatch {
	said := find(c.Conditions, keys.Accepted)
	message := textUnserved(mux, by)
	if c.Deleting || said != nil && (!isUnserved(said, by) || said.Message == message) {
		return nil
	}
	accepted, programmed := condition(keys.Accepted, false, MuxNotServed, message), condition(keys.Programmed, false, NotAccepted, textNotProgrammed())
	patch := &ChannelPatch{
		Channel: c.Key, ResourceVersion: c.ResourceVersion,
		Why:    []string{textCondition(accepted), textCondition(programmed)},
		Events: []Event{{Object: c.Key, Warning: true, Reason: MuxNotServed, Message: message}},
	}
	for _, is := range [...]metav1.Condition{accepted, programmed} {
		is.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
		if before := find(c.Conditions, is.Type); before != nil && before.Status == is.Status {
			is.LastTransitionTime = before.LastTransitionTime
		}
		patch.Conditions = append(patch.Conditions, is)
	}
	return patch
}

// UnservedMux tells a mux that the server doesn't look after it.
func UnservedMux(mux types.NamespacedName, by Server) Event {
	return Event{Object: mux, Warning: true, Reason: MuxNotServed, Message: textUnservedMux(mux, by)}
}

// MuxServedBefore tells a mux that has a ledger's generation that the server doesn't look after it.
func MuxServedBefore(mux types.NamespacedName, by Server) Event {
	return Event{Object: mux, Reason: MuxNotServed, Message: textServedBefore(mux, by)}
}

// NoLongerUnserved takes back what Unserved told; nil if it told nothing.
func NoLongerUnserved(keys validation.Keys, c *ObservedChannel, by Server) *ChannelPatch {
	if said := find(c.Conditions, keys.Accepted); said == nil || !isUnserved(said, by) {
		return nil
	}
	patch := Stray(keys, c)
	patch.ResourceVersion = c.ResourceVersion
	return patch
}

// isUnserved is true for what that server told.
func isUnserved(said *metav1.Condition, by Server) bool {
	return said.Reason == string(MuxNotServed) && strings.HasPrefix(said.Message, textServer(by))
}
