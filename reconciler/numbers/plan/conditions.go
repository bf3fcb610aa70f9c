package plan

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// MaxRemarks bounds how many remarks a channel's condition lists.
const MaxRemarks = 5

// acceptedCondition returns the Accepted condition; false if the channel gets none.
func (t *telling) acceptedCondition(c *channel) (metav1.Condition, bool) {
	kind := t.w.Keys.Accepted
	live := meta.FindStatusCondition(c.Conditions, kind)
	if c.keepsSaid {
		return t.frozenCondition(c, live)
	}
	is := condition(kind, c.accepted, c.reason, c.message)
	if !c.accepted { // a refusal is more important than remarks
		if c.refusal != nil && c.refusal.reason == c.reason && c.refusal.advice != "" {
			is.Message = advised(live, &is, c.refusal.advice)
		}
		return is, true
	}
	if len(c.remarks) > 0 {
		messages := make([]string, 0, MaxRemarks+1)
		for _, remark := range c.remarks[:min(len(c.remarks), MaxRemarks+1)] {
			messages = append(messages, t.textOf(remark))
		}
		is.Reason, is.Message = string(c.remarks[0].reason), someOf(messages)
	}
	return is, true
}

// frozenCondition returns the Accepted condition of a channel whose conditions stay as they are, as far as that is
// possible.
func (t *telling) frozenCondition(c *channel, live *metav1.Condition) (metav1.Condition, bool) {
	kind := t.w.Keys.Accepted
	switch {
	case t.isWaiting(c, live):
		return condition(kind, false, Waiting, textWaiting(t.w.Key, t.plan.Freeze)), true
	case c.reason == Waiting && (live == nil || live.Status == metav1.ConditionTrue || live.Reason == string(Waiting)):
		return condition(kind, false, Waiting, c.message), true // but an edit that was refused before keeps its refusal
	case live != nil && (live.Reason != string(Waiting) || !c.hasNumbers()):
		return *live, true
	case !c.hasNumbers():
		return metav1.Condition{}, false
	}
	return condition(kind, true, Accepted, t.said.accepted), true
}

// someOf joins the first messages and adds "and more". It gives no count: a count would change often, and each change
// is a write and an Event.
func someOf(messages []string) string {
	text := strings.Join(messages[:min(len(messages), MaxRemarks)], "; ")
	if len(messages) > MaxRemarks {
		text += "; and more"
	}
	return text
}

// isWaiting is true for a channel of a frozen mux that was refused before, and whose claims aren't on the mux yet. The
// old refusal no longer holds.
func (t *telling) isWaiting(c *channel, live *metav1.Condition) bool {
	if c.showsAddress || live == nil || live.Status != metav1.ConditionFalse || live.Reason == string(Disabled) {
		return false
	}
	programmed := meta.FindStatusCondition(c.Conditions, t.w.Keys.Programmed)
	return live.Reason == string(Waiting) || programmed != nil && programmed.Reason == string(NotAccepted)
}

// advised adds advice to a refusal. Advice that the condition already gives stays, because new advice depends on the
// ports of other channels, and would change often.
func advised(live, now *metav1.Condition, advice string) string {
	if live != nil && live.Status == now.Status && live.Reason == now.Reason &&
		strings.HasPrefix(live.Message, now.Message+": ") {
		return live.Message
	}
	return now.Message + ": " + advice
}

func (t *telling) programmedCondition(c *channel) metav1.Condition {
	kind := t.w.Keys.Programmed
	live := meta.FindStatusCondition(c.Conditions, kind)
	switch {
	case c.hasNumbers() && t.lacks(c) != nil:
		return condition(kind, false, MuxPatchRefused, textLeftOff(t.lacks(c), t.w.Key, t.m.Refused[c.Key].Words))
	case t.isContested(c):
		return condition(kind, false, Contested, textMissesPorts(t.w.Key, t.m.ContestedUntil))
	case c.showsAddress && len(t.w.Mux.Address) > 0 && !c.accepted && c.lacksNumbers():
		return condition(kind, true, Programmed, t.said.someProgrammed)
	case c.showsAddress && len(t.w.Mux.Address) > 0:
		return condition(kind, true, Programmed, t.said.programmed)
	case c.showsAddress:
		return condition(kind, false, AddressPending, t.said.addressPending)
	case c.reason == Disabled:
		return condition(kind, false, Disabled, c.message)
	case c.keepsSaid && live != nil && live.Reason == string(Disabled):
		return *live
	case c.keepsSaid:
		return condition(kind, false, Waiting, textWaiting(t.w.Key, t.plan.Freeze))
	}
	return condition(kind, false, NotAccepted, textNotProgrammed())
}

// backingCondition returns the BackendsReady condition; false if the channel gets none.
func (t *telling) backingCondition(c *channel) (metav1.Condition, bool) {
	kind := t.w.Keys.BackendsReady
	if !c.showsAddress {
		return metav1.Condition{}, false
	}
	if c.RefusedSlices != "" {
		return condition(kind, false, BackendsRefused, textBackendsRefused(t.w.Key, c.RefusedSlices)), true
	}
	switch c.Backends {
	case Backed:
		if c.Excess != "" {
			return condition(kind, true, TooManyEndpoints, c.Excess), true
		}
		return condition(kind, true, HasBackends, textHasBackends()), true
	case Unbacked:
		return condition(kind, false, NoBackends, textNoBackends()), true
	case OtherFamily:
		return condition(kind, false, FamilyMismatch, textFamilyMismatch(t.w.Mux)), true
	case NotCarried: // usually this lasts a moment, then the condition is True: until then, a False condition stays
		live := meta.FindStatusCondition(c.Conditions, kind)
		if live != nil && live.Status == metav1.ConditionTrue || live != nil && live.Reason == string(BackendsPending) {
			return condition(kind, false, BackendsPending, textBackendsPending(t.w.Key)), true
		}
		if live != nil {
			return *live, true
		}
		if !c.accepted { // this may last: the backends may have only ports without a number
			return condition(kind, false, BackendsPending, textBackendsPending(t.w.Key)), true
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

// setCondition adds a condition to the patch if it differs from the channel's.
func (t *telling) setCondition(c *channel, want *metav1.Condition, patch *ChannelPatch) bool {
	live := meta.FindStatusCondition(c.Conditions, want.Type)
	if live != nil && live.Status == want.Status && live.Reason == want.Reason && live.Message == want.Message {
		return false
	}
	set := *want
	set.LastTransitionTime = metav1.NewTime(t.now)
	if live != nil && live.Status == want.Status {
		set.LastTransitionTime = live.LastTransitionTime
	}
	patch.Conditions = append(patch.Conditions, set)
	return true
}
