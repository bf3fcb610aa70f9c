package view

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

const kindListener = "listener"

// WhyListener returns the chain of a listener of a Gateway that is served here:
//
//	listener ─ mux ─ claim ─ port ─ address ─ route ─ slices ─ backends
func WhyListener(seen *sight.Sight, key types.NamespacedName) Chain {
	c := Chain{Schema: Schema, Namespace: key.Namespace, Name: key.Name, Kind: kindListener, Mux: seen.World.Key.String(),
		Links: []Link{}}
	all := claimantsOf(seen)
	at := slices.IndexFunc(all, func(channel Channel) bool {
		return channel.Namespace == key.Namespace && channel.Name == key.Name
	})
	for _, port := range TopologyOf(seen).Ports {
		if port.Channel == key.String() {
			c.Ports = append(c.Ports, port)
		}
	}
	if at < 0 { // only its claim is known
		c.unread("listener", key.String()+", a listener of the Gateway API", seen.Unread.Listeners)
		c.ok("mux", seen.World.Key.String())
		c.claimed(seen, key)
	} else {
		c.Channel = &all[at]
		c.listener(c.Channel)
		verdict := plan.Verdict{Accepted: c.Channel.Accepted, Reason: validation.Reason(c.Channel.Reason),
			Message: c.Channel.Message}
		if !c.mux(seen, &verdict) || !c.claim(&verdict, c.Channel) || !c.port(seen, c.Channel, true) {
			return c.complete()
		}
	}
	if c.shared(seen) {
		c.route()
		c.carriedBackends(seen, key)
	}
	return c.complete()
}

// listener says whose listener it is.
func (c *Chain) listener(channel *Channel) {
	l := channel.Listener
	switch {
	case l == nil:
		c.unread("listener", channel.Namespace+"/"+channel.Name+", a listener of the Gateway API",
			"ask the process that leads")
		return
	case l.ListenerSet != "":
		c.ok("listener", fmt.Sprintf("%s, a listener of ListenerSet %s on Gateway %s", l.Name, l.ListenerSet, l.Gateway))
	default:
		c.ok("listener", fmt.Sprintf("%s, a listener of Gateway %s", l.Name, l.Gateway))
	}
	c.Conditions = l.Conditions
}

// claimed explains the numbers of a listener of which only the claim is known.
func (c *Chain) claimed(seen *sight.Sight, key types.NamespacedName) {
	for i := range seen.Plan.InForce {
		if claim := &seen.Plan.InForce[i]; claim.Owner.Channel == key {
			c.ok("claim", claim.Span().String())
		}
	}
	if len(c.Ports) == 0 {
		c.bad("port", "not on the mux yet", "", "wait; if this lasts, look at the Events on the mux")
		return
	}
	c.ok("port", c.Ports[0].Span().String()+" on the mux")
}

// shared explains the address, which all listeners of the mux share.
func (c *Chain) shared(seen *sight.Sight) bool {
	mux := addressesOf(seen.World.Mux.Address)
	switch {
	case len(mux) == 0:
		reason, message := noAddress(seen)
		c.bad("address", message, reason, waysToAddress(seen))
		return false
	case seen.Carrier != nil:
		c.carried(seen.Carrier, strings.Join(mux, ", "))
	default:
		c.ok("address", strings.Join(mux, ", "))
	}
	return true
}

// route explains whose backends get the listener's packets.
func (c *Chain) route() {
	if c.Channel == nil || c.Channel.Listener == nil {
		c.unread("route", "the routes of the listener aren't known here", "svcmux explain tcproute/NAME tells of a route")
		return
	}
	var others []string
	for i := range c.Channel.Listener.Routes {
		r := &c.Channel.Listener.Routes[i]
		if !r.Carried {
			others = append(others, r.Kind+" "+r.Name)
			continue
		}
		text := r.Kind + " " + r.Name
		if fault := r.fault(); fault != nil {
			c.warn("route", text+": "+fault.Message, fault.Reason, "")
		} else {
			c.ok("route", text)
		}
		return
	}
	if len(others) > 0 {
		first := &c.Channel.Listener.Routes[0]
		reason, message := "", ""
		if fault := first.fault(); fault != nil {
			reason, message = fault.Reason, ": "+fault.Message
		}
		c.bad("route", "none is accepted: "+strings.Join(others, ", ")+message, reason,
			"correct the route's parentRefs, or the listener's allowedRoutes")
		return
	}
	c.bad("route", "no route names the listener", "", "create a TCPRoute or a UDPRoute with this listener in parentRefs")
}

// fault returns the first condition of a route that is False; nil without one.
func (r *Route) fault() *Condition {
	for i := range r.Conditions {
		if r.Conditions[i].Status == "False" {
			return &r.Conditions[i]
		}
	}
	return nil
}

// carriedBackends explains the backends on the mux.
func (c *Chain) carriedBackends(seen *sight.Sight, key types.NamespacedName) {
	if why := seen.Unread.Carried; why != "" {
		c.unread("slices", "those on the mux can't be read", why)
		c.unread("backends", "those on the mux can't be read", why)
		return
	}
	ready, total := 0, 0
	for i := range c.Ports {
		for _, backend := range c.Ports[i].Backends {
			total++
			if backend.Ready {
				ready++
			}
		}
	}
	c.ok("slices", fmt.Sprintf("%d on the mux", len(seen.Carried[key])))
	text := fmt.Sprintf("%d of %d ready", ready, total)
	if ready == 0 {
		c.bad("backends", text, string(plan.NoBackends),
			"see the status of the listener's route: svcmux explain tcproute/NAME")
		return
	}
	c.ok("backends", text)
}
