package view

import (
	"fmt"
	"slices"
	"strings"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// channel follows a channel from its class to its backends.
func (c *Chain) channel(q *Question) {
	if class := q.Service.Spec.LoadBalancerClass; class != nil {
		c.ok("class", *class)
	}
	if q.Seen == nil {
		c.bad("mux", "the mux that it names is looked after by another reconciler", "", "ask that one's console")
		return
	}
	if q.Seen.World.Key.Name == "" {
		c.Links[len(c.Links)-1].State = linkBad
	} else {
		c.Mux = q.Seen.World.Key.String()
	}
	i := slices.IndexFunc(q.Seen.Plan.Verdicts, func(v plan.Verdict) bool { return v.Channel == q.Key })
	j := slices.IndexFunc(q.Seen.World.Channels, func(o plan.ObservedChannel) bool { return o.Key == q.Key })
	if i < 0 || j < 0 {
		c.bad("mux", "it changed a moment ago", "", "look again")
		return
	}
	verdict, observed := &q.Seen.Plan.Verdicts[i], &q.Seen.World.Channels[j]
	shown := channelOf(q.Seen, verdict, observed, liveNames(q.Seen.World.Mux))
	c.Channel, c.Shows, c.Said = &shown, addressesOf(observed.Address), saidOf(observed)
	if c.mux(q.Seen, verdict) && c.claim(verdict, &shown) && c.port(&shown) {
		c.address(q.Seen, observed)
		c.slices(q.Seen, observed, &shown)
	}
}

func saidOf(observed *plan.ObservedChannel) []Said {
	said := make([]Said, 0, len(observed.Conditions))
	for _, condition := range observed.Conditions {
		said = append(said, Said{condition.Type, string(condition.Status), condition.Reason, condition.Message})
	}
	slices.SortFunc(said, func(a, b Said) int { return strings.Compare(a.Type, b.Type) })
	return said
}

func (c *Chain) mux(seen *Seen, verdict *plan.Verdict) bool {
	state, reason, message := stateOf(seen)
	switch state {
	case muxMissing, muxDeleting:
		c.bad("mux", verdict.Message, string(verdict.Reason), "")
		return false
	case muxFrozen, muxPaused:
		c.warn("mux", message, reason, "nobody gets or loses a port until that is mended; addresses and backends flow on")
	default:
		c.ok("mux", seen.World.Key.String())
	}
	return true
}

func (c *Chain) claim(verdict *plan.Verdict, shown *Channel) bool {
	var has, hasnt []string
	for _, port := range shown.Ports {
		if port.Public == 0 {
			hasnt = append(hasnt, port.Name)
			continue
		}
		has = append(has, fmt.Sprintf("%s has %d/%s (%s)", port.Name, port.Public, port.Protocol, port.Source))
	}
	switch {
	case len(has) == 0:
		c.bad("claim", verdict.Message, string(verdict.Reason), "")
		return false
	case !verdict.Accepted:
		c.warn("claim", verdict.Message, string(verdict.Reason), "until then it keeps what it has: "+strings.Join(has, ", "))
	case len(hasnt) > 0:
		c.warn("claim", "no number yet for "+strings.Join(hasnt, ", "), "", "")
	default:
		c.ok("claim", strings.Join(has, ", "))
	}
	return true
}

func (c *Chain) port(shown *Channel) bool {
	var there, missing []string
	for _, port := range shown.Ports {
		name := fmt.Sprintf("%d/%s", port.Public, port.Protocol)
		switch {
		case port.Public == 0:
		case port.Live:
			there = append(there, name)
		default:
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) > 0 && shown.State == channelDisabled:
		c.bad("port", shown.Message, shown.Reason, "")
	case len(missing) > 0:
		c.bad("port", strings.Join(missing, ", ")+" not on the mux yet", "",
			"wait; if it stays so, the timeline and the Events on the mux say what hinders it")
	default:
		c.ok("port", strings.Join(there, ", ")+" on the mux")
	}
	return len(missing) == 0
}

func (c *Chain) address(seen *Seen, observed *plan.ObservedChannel) {
	mux, shows := addressesOf(seen.World.Mux.Address), addressesOf(observed.Address)
	switch {
	case len(mux) == 0:
		c.bad("address", "the mux has no address from its provider yet", string(plan.AddressPending),
			"look at the Events on the mux, and at the logs of the cloud's controller")
	case !slices.Equal(mux, shows):
		c.warn("address", "the mux has "+strings.Join(mux, ", ")+", and the channel doesn't show it yet", "", "wait")
	default:
		c.ok("address", strings.Join(mux, ", "))
	}
}

func (c *Chain) slices(seen *Seen, observed *plan.ObservedChannel, shown *Channel) {
	c.Tracks = []Track{}
	for _, track := range JunctionOf(seen).Tracks {
		if track.Channel == observed.Key.String() {
			c.Tracks = append(c.Tracks, track)
		}
	}
	sources, carried := len(seen.Sources[observed.Key]), len(seen.Carried[observed.Key])
	switch {
	case observed.Backends == plan.OtherFamily:
		c.bad("slices", "its backends have addresses of another family than the mux", string(plan.FamilyMismatch),
			"make the mux dual-stack (ipFamilyPolicy), or the channel's pods")
	case sources == 0:
		c.bad("slices", "it has no EndpointSlices", string(plan.NoBackends),
			"a Service without a selector needs EndpointSlices written by hand; with one, see that it has ports")
	case carried == 0 && countEndpoints(seen.Sources[observed.Key]).Total > 0:
		c.bad("slices", "none of its EndpointSlices is carried on the mux", string(plan.NoBackends),
			"the ports of a hand-written EndpointSlice must have the names that the Service's have; else wait")
	default:
		c.ok("slices", fmt.Sprintf("%d of its own, %d on the mux", sources, carried))
	}
	text := fmt.Sprintf("%d of %d ready", shown.Backends.Ready, shown.Backends.Total)
	if shown.Backends.Ready == 0 {
		c.bad("backends", text, string(plan.NoBackends), "see that its selector finds pods, and that they become ready")
		return
	}
	c.ok("backends", text)
}
