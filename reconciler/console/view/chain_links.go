package view

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// channel adds the links of a channel, from its class to its backends.
func (c *Chain) channel(q *Question) {
	if class := q.Service.Spec.LoadBalancerClass; class != nil {
		c.ok("class", *class)
	}
	switch {
	case q.Seen == nil:
	case q.Seen.World.Key.Name == "":
		c.Links[len(c.Links)-1].State = linkBad
	default:
		c.Mux = q.Seen.World.Key.String()
	}
	admitted := c.admission(q)
	if q.Seen == nil {
		c.bad("mux", "another reconciler manages the mux that it names", "", "see that reconciler's console")
		return
	}
	i := slices.IndexFunc(q.Seen.Plan.Verdicts, func(v plan.Verdict) bool { return v.Channel == q.Key })
	j := slices.IndexFunc(q.Seen.World.Channels, func(o plan.ObservedChannel) bool { return o.Key == q.Key })
	if i < 0 || j < 0 {
		c.bad("mux", "it changed a moment ago", "", "look again")
		return
	}
	verdict, observed := &q.Seen.Plan.Verdicts[i], &q.Seen.World.Channels[j]
	shown := channelOf(q.Seen, verdict, observed, liveNames(q.Seen.World.Mux))
	c.Channel, c.Shows, c.Conditions = &shown, addressesOf(observed.Address), conditionsOf(observed.Conditions)
	if admitted && c.mux(q.Seen, verdict) && c.claim(verdict, &shown) && c.port(q.Seen, &shown, verdict.Programmed) {
		c.address(q.Seen, observed)
		c.slices(q.Seen, observed, &shown)
	}
}

func conditionsOf(conditions []metav1.Condition) []Condition {
	said := make([]Condition, 0, len(conditions))
	for _, condition := range conditions {
		said = append(said, Condition{condition.Type, string(condition.Status), condition.Reason, condition.Message})
	}
	slices.SortFunc(said, func(a, b Condition) int { return strings.Compare(a.Type, b.Type) })
	return said
}

func (c *Chain) mux(seen *sight.Sight, verdict *plan.Verdict) bool {
	state, reason, message := stateOf(seen)
	switch state {
	case muxMissing, muxDeleting:
		c.bad("mux", verdict.Message, string(verdict.Reason), "")
		return false
	case muxUnread:
		c.unread("mux", "it can't be read; the channel's conditions tell what the reconciler did", message)
	case muxFrozen, muxPaused:
		c.warn("mux", message, reason, "no channel gets or loses a port until this is fixed; addresses and backends are "+
			"still updated")
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
		has = append(has, fmt.Sprintf("%s has %s (%s)", port.Name, port.Span(), how(port.Source)))
	}
	switch {
	case len(has) == 0, shown.State == channelRefused:
		// a refused channel may still have numbers, without ports on the mux
		c.bad("claim", verdict.Message, string(verdict.Reason), "")
		return false
	case verdict.Reason == plan.Disabled:
		c.warn("claim", verdict.Message, string(verdict.Reason), "until then it keeps its numbers: "+strings.Join(has, ", "))
	case !verdict.Accepted:
		c.warn("claim", verdict.Message, string(verdict.Reason), "until then it keeps its ports: "+strings.Join(has, ", "))
	case len(hasnt) > 0:
		c.warn("claim", "no number yet for "+strings.Join(hasnt, ", "), "", "")
	default:
		c.ok("claim", strings.Join(has, ", "))
	}
	return true
}

func (c *Chain) port(seen *sight.Sight, shown *Channel, programmed bool) bool {
	var there, missing []string
	for _, port := range shown.Ports {
		name := port.Span().String()
		switch {
		case port.Public == 0:
		case port.Live, seen.Unread.Mux != "" && programmed:
			there = append(there, name)
		default:
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) > 0 && shown.State == channelDisabled:
		c.bad("port", shown.Message, shown.Reason, "")
	case len(missing) > 0 && seen.Unread.Mux != "":
		c.unread("port", strings.Join(missing, ", ")+": only the mux tells whether it has them", seen.Unread.Mux)
		return true
	case len(missing) > 0:
		c.bad("port", strings.Join(missing, ", ")+" not on the mux yet", "",
			"wait; if this lasts, look at the timeline and at the Events on the mux")
	default:
		c.ok("port", strings.Join(there, ", ")+" on the mux")
	}
	return len(missing) == 0
}

func (c *Chain) address(seen *sight.Sight, observed *plan.ObservedChannel) {
	shows := addressesOf(observed.Address)
	if seen.World.Mux == nil { // it couldn't be read
		if len(shows) == 0 {
			c.bad("address", "the channel shows no address", string(plan.AddressPending),
				"wait; if this lasts, ask the mux's owner whether the mux has an address")
			return
		}
		c.ok("address", strings.Join(shows, ", "))
		return
	}
	mux := addressesOf(seen.World.Mux.Address)
	switch {
	case len(mux) == 0:
		reason, message := noAddress(seen)
		c.bad("address", message, reason, waysToAddress(seen))
	case !slices.Equal(mux, shows):
		c.warn("address", "the mux has "+strings.Join(mux, ", ")+", and the channel doesn't show it yet", "", "wait")
	case seen.Carrier != nil:
		c.carried(seen.Carrier, strings.Join(mux, ", "))
	default:
		c.ok("address", strings.Join(mux, ", "))
	}
}

func waysToAddress(seen *sight.Sight) string {
	if seen.Carrier != nil {
		return "look at the Events on the mux, and at the logs of the gateways' controller"
	}
	return "look at the Events on the mux, and at the logs of the cloud's controller"
}

// carried adds the link of an address on gateways. If Leases are stale, the link is only a warning: the carrier isn't
// known, but gateways go on carrying.
func (c *Chain) carried(carrier *sight.Carrier, addresses string) {
	trouble, is := carrier.Trouble()
	switch {
	case carrier.Nobody():
		c.bad("address", addresses+": "+carrier.Carried.Message, carrier.Carried.Reason,
			"svcmux doctor tells of each gateway")
	case is:
		c.warn("address", addresses+": "+trouble.Message, trouble.Reason, "")
	case carrier.By == "":
		c.warn("address", addresses+", and the gateways' controller doesn't say who carries it", "", "look at its logs")
	default:
		c.ok("address", addresses+", carried by "+strings.ReplaceAll(carrier.By, ",", ", "))
	}
}

func (c *Chain) slices(seen *sight.Sight, observed *plan.ObservedChannel, shown *Channel) {
	c.Ports = []PublicPort{}
	for _, port := range TopologyOf(seen).Ports {
		if port.Channel == observed.Key.String() && (len(port.Backends) > 0 || seen.Unread.Carried == "") {
			c.Ports = append(c.Ports, port)
		}
	}
	if seen.Unread.Any() && c.slicesSaid(seen, observed, shown) {
		return
	}
	sources, carried := len(seen.Sources[observed.Key]), len(seen.Carried[observed.Key])
	switch {
	case observed.Backends == plan.OtherFamily:
		c.bad("slices", "its backends have addresses of another family than the mux", string(plan.FamilyMismatch),
			"make the mux dual-stack (ipFamilyPolicy), or the channel's pods")
	case sources == 0:
		c.bad("slices", "it has no EndpointSlices", string(plan.NoBackends),
			"a Service without a selector needs EndpointSlices written by hand; a Service with one needs ports")
	case carried == 0 && countEndpoints(seen.Sources[observed.Key]).Total > 0:
		c.bad("slices", "none of its EndpointSlices is carried on the mux", string(plan.NoBackends),
			"the ports of a hand-written EndpointSlice must have the same names as the Service's ports; else wait")
	default:
		c.ok("slices", fmt.Sprintf("%d of its own, %d on the mux", sources, carried))
	}
	c.backends(shown, observed.Excess)
}

func (c *Chain) backends(shown *Channel, excess string) {
	text := fmt.Sprintf("%d of %d ready", shown.Backends.Ready, shown.Backends.Total)
	if shown.Backends.Ready == 0 {
		c.bad("backends", text, string(plan.NoBackends), "check that its selector matches pods, and that they become ready")
		return
	}
	if excess != "" {
		c.warn("backends", text+": "+excess, string(plan.TooManyEndpoints), "")
		return
	}
	c.ok("backends", text)
}

// how says how a port got its number, in the words of the docs.
func how(source string) string {
	if source == plan.Static.String() {
		return "explicit"
	}
	return source
}
