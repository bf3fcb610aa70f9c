package sight

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// saidNothing is the message about a channel without conditions.
const saidNothing = "the reconciler hasn't written a condition on this channel yet"

// heed lets the conditions of channels count more than the plan: the plan was made without the reconciler's memory,
// perhaps by another release, and perhaps without some objects that the reconciler reads.
func (g *gathering) heed() {
	// a listener's conditions are in the reconciler's memory
	g.Plan.Show = slices.DeleteFunc(g.Plan.Show, func(patch plan.ChannelPatch) bool {
		return !claimants.IsService(patch.Channel)
	})
	if g.World.Mux == nil && g.Unread.Mux == "" {
		return // conditions are older than the deletion of the mux
	}
	if g.Unread.Channels != "" || g.Unread.Ledger != "" { // ports of channels that couldn't be read look unexplained
		g.Plan.Standing = slices.DeleteFunc(g.Plan.Standing, func(e plan.Event) bool {
			return e.Reason == plan.UnexplainedPort
		})
	}
	h := g.heeding()
	for i := range g.Plan.Verdicts {
		if verdict := &g.Plan.Verdicts[i]; h.channels[verdict.Channel] != nil {
			h.channel(verdict, h.channels[verdict.Channel])
		}
	}
	h.keepShown()
}

// keepShown drops claims in force that the plan would give to channels which were refused.
func (h *heeding) keepShown() {
	has := map[plan.PortID]bool{}
	for i := range h.Plan.Verdicts {
		for _, port := range h.Plan.Verdicts[i].Ports {
			has[plan.PortID{Channel: h.Plan.Verdicts[i].Channel, Name: port.Name, Protocol: port.Protocol}] = port.Public != 0
		}
	}
	h.Plan.InForce = slices.DeleteFunc(slices.Clone(h.Plan.InForce), func(claim plan.Claim) bool {
		shown, known := has[claim.Owner]
		return known && !shown && h.held[claim.Slot()] != claim.Owner
	})
}

// heeding holds what the conditions of channels are compared with.
type heeding struct {
	*gathering
	channels map[types.NamespacedName]*plan.ObservedChannel
	live     map[plan.Span]string // the names of the mux's ports and ranges
	held     map[plan.Slot]plan.PortID
}

func (g *gathering) heeding() *heeding {
	h := &heeding{g, map[types.NamespacedName]*plan.ObservedChannel{}, map[plan.Span]string{}, map[plan.Slot]plan.PortID{}}
	for i := range g.World.Channels {
		h.channels[g.World.Channels[i].Key] = &g.World.Channels[i]
	}
	if g.World.Mux != nil {
		for name, numbers := range g.World.Mux.Spans() {
			h.live[numbers] = name
		}
	}
	for i := range g.World.Ledger.Ledger.Claims {
		if claim := &g.World.Ledger.Ledger.Claims[i]; claim.State == plan.Held {
			h.held[claim.Slot()] = claim.Owner
		}
	}
	return h
}

// channel replaces the verdict about a channel with what its conditions say.
func (h *heeding) channel(verdict *plan.Verdict, observed *plan.ObservedChannel) {
	accepted := meta.FindStatusCondition(observed.Conditions, h.World.Keys.Accepted)
	programmed := meta.FindStatusCondition(observed.Conditions, h.World.Keys.Programmed)
	switch {
	case accepted != nil:
		verdict.Accepted = accepted.Status == metav1.ConditionTrue
		verdict.Reason, verdict.Message = validation.Reason(accepted.Reason), accepted.Message
	case h.Unread.Mux != "":
		verdict.Accepted, verdict.Reason, verdict.Message = false, plan.Waiting, saidNothing
	}
	if programmed != nil {
		verdict.Programmed = programmed.Status == metav1.ConditionTrue
	}
	if accepted != nil || h.Unread.Mux != "" {
		for i := range verdict.Ports {
			h.port(verdict, &verdict.Ports[i], observed)
		}
	}
	h.freeze(accepted, programmed)
}

// port corrects the number of a port. A number that only the plan would give to a refused channel isn't the channel's.
// A number in the channel's annotation is the channel's even if the plan doesn't know it, provided that the mux has it
// or can't be read.
func (h *heeding) port(verdict *plan.Verdict, port *plan.PortVerdict, observed *plan.ObservedChannel) {
	slot := plan.Slot{Number: port.Public, Protocol: port.Protocol}
	name, isLive := h.live[port.Span()]
	id := plan.PortID{Channel: observed.Key, Name: port.Name, Protocol: port.Protocol}
	if !verdict.Accepted && port.Public != 0 && h.held[slot] != id && (!isLive || name != port.MuxName) {
		port.Public, port.Last, port.MuxName = 0, 0, ""
	}
	for _, recorded := range observed.Recorded {
		name, isLive := h.live[plan.NewSpan(recorded.Public, recorded.Last, port.Protocol)]
		if port.Public == 0 && recorded.Name == port.Name && (isLive || h.Unread.Mux != "") {
			port.Public, port.Last, port.MuxName = recorded.Public, recorded.Last, name
			port.Source = plan.Auto
			if slices.ContainsFunc(observed.Ports, func(p validation.ChannelPort) bool {
				return p.Name == port.Name && p.Request.Kind != validation.Auto
			}) {
				port.Source = plan.Static
			}
		}
	}
}

// freeze freezes the mux if a condition says that it is frozen: the reason may be in the reconciler's memory alone.
func (h *heeding) freeze(accepted, programmed *metav1.Condition) {
	if h.Plan.Freeze != nil || h.World.Mux == nil {
		return
	}
	for _, said := range [...]*metav1.Condition{accepted, programmed} {
		if said == nil || said.Status != metav1.ConditionFalse {
			continue
		}
		if reason := validation.Reason(said.Reason); reason == plan.Waiting || reason == plan.Contested {
			h.Plan.Freeze = &plan.Freeze{Reason: reason, Message: said.Message}
			return
		}
	}
}
