package view

import (
	"cmp"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// The conditions of a listener and of a route in the Gateway API.
const (
	listenerAccepted = "Accepted"
	// portUnavailable is the reason in the status of a listener if package plan refuses its number. The plan's own verdict
	// tells more, and sooner.
	portUnavailable = "PortUnavailable"
)

const (
	reasonUnknown  validation.Reason = "ListenersUnknown"
	messageUnknown                   = "this process doesn't know the listeners of the mux's Gateway: another process " +
		"leads and knows them, gatewayApi.implementation is off, or the Gateway wasn't read yet. Listeners that have " +
		"numbers are shown by their names alone"
)

// claimantsOf returns the channels and listeners of a mux: those with a verdict in the plan, listeners that ask for no
// number, and listeners with numbers that this process doesn't know.
func claimantsOf(s *sight.Sight) []Channel {
	live, known := liveNames(s.World.Mux), map[types.NamespacedName]bool{}
	observed := make(map[types.NamespacedName]*plan.ObservedChannel, len(s.World.Channels))
	for i := range s.World.Channels {
		observed[s.World.Channels[i].Key] = &s.World.Channels[i]
	}
	listeners := make(map[types.NamespacedName]*claimants.Listener, len(s.Listeners))
	for i := range s.Listeners {
		listeners[s.Listeners[i].Key] = &s.Listeners[i]
	}
	all := make([]Channel, 0, len(s.Plan.Verdicts))
	for i := range s.Plan.Verdicts {
		verdict := s.Plan.Verdicts[i]
		known[verdict.Channel] = true
		listener := listeners[verdict.Channel]
		if listener != nil {
			heedListener(&verdict, listener)
		}
		channel := channelOf(s, &verdict, observed[verdict.Channel], live)
		channel.Listener = listenerOf(listener)
		all = append(all, channel)
	}
	for i := range s.Listeners {
		if l := &s.Listeners[i]; !known[l.Key] {
			known[l.Key] = true
			all = append(all, notAsking(l))
		}
	}
	all = append(all, unknown(s, known)...)
	slices.SortStableFunc(all, func(a, b Channel) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// heedListener turns an accepting verdict into a refusal if the listener's own status refuses it, such as because its
// Gateway isn't accepted. The listener keeps its number, if it has one.
func heedListener(verdict *plan.Verdict, l *claimants.Listener) {
	if no := refusalOf(l); no != nil && no.Reason != portUnavailable && verdict.Accepted {
		verdict.Accepted, verdict.Reason, verdict.Message = false, validation.Reason(no.Reason), no.Message
	}
}

func refusalOf(l *claimants.Listener) *metav1.Condition {
	for i := range l.Conditions {
		if c := &l.Conditions[i]; c.Type == listenerAccepted && c.Status == metav1.ConditionFalse {
			return c
		}
	}
	return nil
}

// notAsking returns the view of a listener that asks for no number.
func notAsking(l *claimants.Listener) Channel {
	channel := Channel{Namespace: l.Key.Namespace, Name: l.Key.Name, State: channelWaiting, Reason: string(plan.Waiting),
		Message: "its Gateway has yet to be judged", Listener: listenerOf(l),
		Ports: []Port{{Name: l.Name, Protocol: string(l.Protocol), Port: l.Number,
			Request: strconv.Itoa(int(l.Number))}}}
	if no := refusalOf(l); no != nil {
		channel.State, channel.Reason, channel.Message = channelRefused, no.Reason, no.Message
	}
	return channel
}

func listenerOf(l *claimants.Listener) *Listener {
	if l == nil {
		return nil
	}
	shown := &Listener{Gateway: l.Gateway.String(), Name: l.Name, Conditions: conditionsOf(l.Conditions),
		Routes: make([]Route, 0, len(l.Routes))}
	if l.ListenerSet.Name != "" {
		shown.ListenerSet = l.ListenerSet.String()
	}
	for i := range l.Routes {
		r := &l.Routes[i]
		shown.Routes = append(shown.Routes, Route{r.Kind, r.Key.String(), r.Carried, conditionsOf(r.Conditions)})
	}
	return shown
}

// unknown returns the listeners with claims that this process doesn't know.
func unknown(s *sight.Sight, known map[types.NamespacedName]bool) []Channel {
	if !s.World.ListenersUnknown {
		return nil
	}
	found, live := map[types.NamespacedName]*Channel{}, liveNames(s.World.Mux)
	for i := range s.Plan.InForce {
		claim := &s.Plan.InForce[i]
		key := claim.Owner.Channel
		if known[key] || claimants.IsService(key) {
			continue
		}
		if found[key] == nil {
			found[key] = &Channel{Namespace: key.Namespace, Name: key.Name, State: channelUnknown, Reason: string(reasonUnknown),
				Accepted: true,
				Backends: backendsOf(s, &plan.ObservedChannel{Channel: validation.Channel{Object: validation.Object{Key: key}}})}
		}
		found[key].Ports = append(found[key].Ports,
			Port{Name: claim.Owner.Name, Protocol: string(claim.Owner.Protocol), Port: claim.Port, Public: claim.Public,
				Last: claim.Last, Request: strconv.Itoa(int(claim.Public)), Source: claim.Source.String(),
				Live: live[claim.MuxName] == claim.Span()})
	}
	list := make([]Channel, 0, len(found))
	for _, channel := range found {
		list = append(list, *channel)
	}
	slices.SortFunc(list, func(a, b Channel) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// gatewayOf returns the Gateway that a mux is made for; nil without one.
func gatewayOf(s *sight.Sight, all []Channel) *Gateway {
	gateway := Gateway{Unknown: s.World.ListenersUnknown}
	for i := range all {
		if !claimants.IsService(types.NamespacedName{Name: all[i].Name}) {
			gateway.Listeners++
		}
	}
	if len(s.Listeners) > 0 {
		gateway.Name = s.Listeners[0].Gateway.String()
	}
	if gateway == (Gateway{}) {
		return nil
	}
	return &gateway
}
