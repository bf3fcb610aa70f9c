package plan

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// maxNotes bounds what is said at once of one channel.
const maxNotes = 5

// acceptedCondition is what is to be said of a channel's ports; false if nothing is.
func (p *pass) acceptedCondition(c *channel) (metav1.Condition, bool) {
	kind := p.w.Keys.Accepted
	live := find(c.Conditions, kind)
	switch {
	case c.keepsSaid && p.isWaiting(c, live):
		return condition(kind, false, Waiting, textWaiting(p.w.Key, p.plan.Freeze)), true
	case c.keepsSaid && c.reason == Waiting && (live == nil || live.Status == metav1.ConditionTrue || live.Reason == string(Waiting)):
		return condition(kind, false, Waiting, c.message), true // an edit that was refused before keeps its refusal
	case c.keepsSaid && live != nil && (live.Reason != string(Waiting) || !c.isHeld()):
		return *live, true
	case c.keepsSaid && !c.isHeld():
		return metav1.Condition{}, false
	case c.keepsSaid:
		return condition(kind, true, Accepted, p.said.accepted), true
	}
	is := condition(kind, c.accepted, c.reason, c.message)
	if !c.accepted { // what is to be noted besides has time
		if c.refusal != nil && c.refusal.reason == c.reason && c.refusal.advice != "" {
			is.Message = advised(live, &is, c.refusal.advice)
		}
		return is, true
	}
	if len(c.notes) > 0 {
		messages := make([]string, 0, maxNotes+1)
		for _, note := range c.notes[:min(len(c.notes), maxNotes+1)] {
			messages = append(messages, p.textOf(note))
		}
		is.Reason, is.Message = string(c.notes[0].reason), someOf(messages)
	}
	return is, true
}

// someOf has the first messages, and says that there are more: how many would be news each time.
func someOf(messages []string) string {
	text := strings.Join(messages[:min(len(messages), maxNotes)], "; ")
	if len(messages) > maxNotes {
		text += "; and more"
	}
	return text
}

// isWaiting is true for a channel of a frozen mux that was refused before: its numbers are claimed by now, and not on the
// mux yet. Why it was refused is over.
func (p *pass) isWaiting(c *channel, live *metav1.Condition) bool {
	if c.attached || live == nil || live.Status != metav1.ConditionFalse || live.Reason == string(Disabled) {
		return false
	}
	programmed := find(c.Conditions, p.w.Keys.Programmed)
	return live.Reason == string(Waiting) || programmed != nil && programmed.Reason == string(NotAccepted)
}

// advised is a refusal with its way out. Advice that was given stays: it would change with every port that others get,
// and be news each time.
func advised(live, now *metav1.Condition, advice string) string {
	if live != nil && live.Status == now.Status && live.Reason == now.Reason &&
		strings.HasPrefix(live.Message, now.Message+": ") {
		return live.Message
	}
	return now.Message + ": " + advice
}

func (p *pass) programmedCondition(c *channel) metav1.Condition {
	kind := p.w.Keys.Programmed
	live := find(c.Conditions, kind)
	switch {
	case c.isHeld() && p.lacks(c):
		return condition(kind, false, MuxPatchRefused, textRefused(p.m.Refused[c.Key].Words))
	case c.attached && len(p.w.Mux.Address) > 0:
		return condition(kind, true, Programmed, p.said.programmed)
	case c.attached:
		return condition(kind, false, AddressPending, p.said.addressPending)
	case c.reason == Disabled:
		return condition(kind, false, Disabled, c.message)
	case c.keepsSaid && live != nil && live.Reason == string(Disabled):
		return *live
	case c.keepsSaid:
		return condition(kind, false, Waiting, textWaiting(p.w.Key, p.plan.Freeze))
	}
	return condition(kind, false, NotAccepted, textNotProgrammed())
}

// backingCondition is what is to be said of backends; false if nothing is.
func (p *pass) backingCondition(c *channel) (metav1.Condition, bool) {
	kind := p.w.Keys.BackendsReady
	if !c.attached {
		return metav1.Condition{}, false
	}
	if c.RefusedSlices != "" {
		return condition(kind, false, BackendsRefused, textBackendsRefused(p.w.Key, c.RefusedSlices)), true
	}
	switch c.Backends {
	case Backed:
		return condition(kind, true, HasBackends, textHasBackends()), true
	case Unbacked:
		return condition(kind, false, NoBackends, textNoBackends()), true
	case OtherFamily:
		return condition(kind, false, FamilyMismatch, textFamilyMismatch(p.w.Mux)), true
	case NotCarried: // mostly for a moment only, after which the condition is True: one that is False stays until then
		live := find(c.Conditions, kind)
		if live != nil && live.Status == metav1.ConditionTrue || live != nil && live.Reason == string(BackendsPending) {
			return condition(kind, false, BackendsPending, textBackendsPending(p.w.Key)), true
		}
		if live != nil {
			return *live, true
		}
		if !c.accepted { // it may last: backends may have only ports that got no number
			return condition(kind, false, BackendsPending, textBackendsPending(p.w.Key)), true
		}
	case Unknown:
	}
	return metav1.Condition{}, false
}

func condition(kind string, is bool, reason validation.Reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: string(reason), Message: message}
}

// setCondition puts a condition into the patch if it differs from what is there.
func (p *pass) setCondition(c *channel, want *metav1.Condition, patch *ChannelPatch) bool {
	live := find(c.Conditions, want.Type)
	if live != nil && live.Status == want.Status && live.Reason == want.Reason && live.Message == want.Message {
		return false
	}
	set := *want
	set.LastTransitionTime = metav1.NewTime(p.now)
	if live != nil && live.Status == want.Status {
		set.LastTransitionTime = live.LastTransitionTime
	}
	patch.Conditions = append(patch.Conditions, set)
	return true
}

func find(conditions []metav1.Condition, kind string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}
