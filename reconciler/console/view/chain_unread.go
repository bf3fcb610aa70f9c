package view

import (
	"cmp"
	"fmt"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// admission adds the link of the webhook. A channel that has ports already keeps them even if admission would refuse it
// today.
func (c *Chain) admission(q *Question) bool {
	channel, found := q.Language.ParseChannel(q.Service)
	switch {
	case len(found.Problems) == 0 && len(q.heeded(found.Warnings)) > 0:
		c.ok("admission", "accepts it, with warnings")
	case len(found.Problems) == 0:
		c.ok("admission", "accepts it")
	case len(channel.Recorded) > 0:
		c.warn("admission", found.Problems[0].Message, string(found.Problems[0].Reason),
			"until then it keeps the ports that it has")
	default:
		c.bad("admission", found.Problems[0].Message, string(found.Problems[0].Reason), "")
		return false
	}
	return true
}

// slicesSaid adds the links of slices and backends from the channel's conditions, because some slices can't be read. It
// returns false and adds nothing if the other slices tell enough.
func (c *Chain) slicesSaid(seen *sight.Sight, observed *plan.ObservedChannel, shown *Channel) bool {
	carriedUnread := cmp.Or(seen.Unread.Carried, seen.Unread.Mux)
	sources := len(seen.Sources[observed.Key])
	if carriedUnread == "" && (seen.Unread.Sources == "" || len(seen.Carried[observed.Key]) > 0) {
		return false
	}
	said := conditionOf(observed, seen.World.Keys.BackendsReady)
	switch {
	case said != nil && said.Status == "False":
		c.bad("slices", said.Message, said.Reason, "")
		return true
	case said != nil:
		c.ok("slices", "the reconciler says: "+said.Message)
	case carriedUnread != "":
		c.unread("slices", fmt.Sprintf("%d of its own; those on the mux can't be read", sources), carriedUnread)
	default:
		c.unread("slices", "its EndpointSlices can't be read", seen.Unread.Sources)
	}
	if sources == 0 && seen.Unread.Sources != "" {
		c.unread("backends", "its EndpointSlices can't be read", seen.Unread.Sources)
		return true
	}
	c.backends(shown, observed.Excess)
	return true
}

func conditionOf(observed *plan.ObservedChannel, kind string) *Condition {
	for _, condition := range conditionsOf(observed.Conditions) {
		if condition.Type == kind {
			return &condition
		}
	}
	return nil
}
