package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/validation"
)

// maxListed bounds how many items a message lists.
const maxListed = 8

// muxEvents returns the Events of a patch of the mux.
func (p *pass) muxEvents(change *portChange, told bool) []Event {
	normal := func(reason validation.Reason, message string) Event {
		return Event{Object: p.w.Key, Reason: reason, Message: message}
	}
	var events []Event
	if !change.empty() {
		events = append(events, normal(MuxPortsChanged, listed(change.text(), "; ")))
	}
	if told {
		events = append(events, normal(MuxAnnotationsUpdated, "channels, topology, summary or DNS names are up to date"))
	}
	return events
}

// text describes the change: a sentence each for added, removed, renamed and changed ports.
func (c *portChange) text() []string {
	var text []string
	for _, part := range [...]struct {
		what  string
		slots []string
	}{{"added", c.added}, {"removed", c.removed}, {"renamed", c.renamed}, {"changed", c.changed}} {
		if len(part.slots) > 0 {
			text = append(text, part.what+" "+listed(part.slots, ", "))
		}
	}
	return text
}

// listed joins the first items, and counts the rest.
func listed(items []string, separator string) string {
	if len(items) <= maxListed {
		return strings.Join(items, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:maxListed], separator), len(items)-maxListed)
}

// channelEvents returns the Events of a changed Accepted condition: a refusal, the end of a refusal, or the remarks
// about an accepted channel. A channel that is accepted at once gets no Event.
func (t *telling) channelEvents(c *channel, patch *ChannelPatch) []Event {
	i := slices.IndexFunc(patch.Conditions, func(c metav1.Condition) bool { return c.Type == t.w.Keys.Accepted })
	if i < 0 {
		return nil
	}
	now, before := patch.Conditions[i], meta.FindStatusCondition(c.Conditions, t.w.Keys.Accepted)
	refused := now.Status == metav1.ConditionFalse
	switch {
	case c.Deleting: // its owner knows
	case refused && c.reason == Disabled:
		return []Event{{Object: c.Key, Reason: Disabled, Message: now.Message}}
	case refused:
		return []Event{{Object: c.Key, Warning: true, Reason: validation.Reason(now.Reason), Message: now.Message}}
	case len(c.remarks) > 0:
		var events []Event
		for _, remark := range c.remarks[:min(len(c.remarks), MaxRemarks)] {
			events = append(events, Event{Object: c.Key, Warning: true, Reason: remark.reason, Message: t.textOf(remark)})
		}
		return events
	case before != nil && before.Status == metav1.ConditionFalse:
		return []Event{{Object: c.Key, Reason: Accepted, Message: now.Message}}
	}
	return nil
}

// backingEvents returns the Event if the API server began to refuse the channel's backends on the mux, or a limit to
// cut them.
func (t *telling) backingEvents(c *channel, patch *ChannelPatch) []Event {
	i := slices.IndexFunc(patch.Conditions, func(c metav1.Condition) bool { return c.Type == t.w.Keys.BackendsReady })
	if i < 0 {
		return nil
	}
	now, before := patch.Conditions[i], meta.FindStatusCondition(c.Conditions, t.w.Keys.BackendsReady)
	switch reason := validation.Reason(now.Reason); {
	case reason == BackendsRefused && c.RefusedSlices != "",
		reason == TooManyEndpoints && (before == nil || before.Reason != now.Reason): // a new count is no news
		return []Event{{Object: c.Key, Warning: true, Reason: reason, Message: now.Message}}
	}
	return nil
}

// edges are the channels that got their first backends, and those that lost their last.
type edges struct {
	gained, lost []string
	others       bool // another channel had backends before, and still has them
}

func (e *edges) record(c *channel, live *metav1.Condition) {
	had := live != nil && live.Status == metav1.ConditionTrue
	has := c.showsAddress && c.Backends == Backed && c.RefusedSlices == ""
	wiped := len(c.Conditions) == 0 && c.PortsNote != "" // another writer emptied its status: no backend came or went
	// a process that has just started doesn't know what a listener had
	isNew := live == nil && !claimants.IsService(c.Key)
	switch {
	case wiped, isNew:
		e.others = e.others || has
	case c.deferred || c.Backends == Unknown || c.Backends == NotCarried && !had:
		e.others = e.others || had
	case has && !had:
		e.gained = append(e.gained, c.Key.String())
	case had && !has:
		e.lost = append(e.lost, c.Key.String())
	default:
		e.others = e.others || has
	}
}

// tellEdges adds one Event for all edges.
func (t *telling) tellEdges(e edges) {
	if len(e.gained)+len(e.lost) == 0 {
		return
	}
	reason := MuxEndpointsChanged
	if len(e.lost) == 0 && !e.others {
		reason = MuxEndpointsCreated
	}
	t.plan.Told = append(t.plan.Told, Event{Object: t.w.Key, Reason: reason, Message: textEdges(e.gained, e.lost)})
}
