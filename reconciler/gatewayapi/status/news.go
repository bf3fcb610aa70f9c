package status

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// News is the content of an Event about an object whose status changed.
type News struct {
	Warning         bool
	Reason, Message string
}

// verdict has the conditions of a listener before and after a change of the status.
type verdict struct {
	name          string
	before, after []metav1.Condition
}

// GatewayNews returns what changed between a Gateway's status and the next one. A process that starts finds the status
// that the last one wrote, so it tells nothing twice.
func GatewayNews(gateway *gatewayv1.Gateway, after *gatewayv1.GatewayStatus) []News {
	said := func(status *gatewayv1.GatewayStatus) map[gatewayv1.SectionName][]metav1.Condition {
		all := map[gatewayv1.SectionName][]metav1.Condition{}
		for i := range status.Listeners {
			all[status.Listeners[i].Name] = status.Listeners[i].Conditions
		}
		return all
	}
	before, now := said(&gateway.Status), said(after)
	var all []verdict
	for i := range gateway.Spec.Listeners {
		l := &gateway.Spec.Listeners[i]
		all = append(all, verdict{nameOf(l.Name, l.Port, l.Protocol), before[l.Name], now[l.Name]})
	}
	return newsOf(gateway.Status.Conditions, after.Conditions, all)
}

// ListenerSetNews returns what changed between a ListenerSet's status and the next one.
func ListenerSetNews(set *gatewayv1.ListenerSet, after *gatewayv1.ListenerSetStatus) []News {
	said := func(status *gatewayv1.ListenerSetStatus) map[gatewayv1.SectionName][]metav1.Condition {
		all := map[gatewayv1.SectionName][]metav1.Condition{}
		for i := range status.Listeners {
			all[status.Listeners[i].Name] = status.Listeners[i].Conditions
		}
		return all
	}
	before, now := said(&set.Status), said(after)
	var all []verdict
	for i := range set.Spec.Listeners {
		l := &set.Spec.Listeners[i]
		all = append(all, verdict{nameOf(l.Name, l.Port, l.Protocol), before[l.Name], now[l.Name]})
	}
	return newsOf(set.Status.Conditions, after.Conditions, all)
}

func nameOf(name gatewayv1.SectionName, port gatewayv1.PortNumber, protocol gatewayv1.ProtocolType) string {
	return fmt.Sprintf("%s (%d/%s)", name, port, protocol)
}

// newsOf returns the news of a Gateway or a ListenerSet. While the whole is refused, its listeners add nothing.
func newsOf(before, after []metav1.Condition, listeners []verdict) []News {
	refused := refusalOf(after)
	if refused != nil {
		if isTold(refusalOf(before), refused) {
			return nil
		}
		return []News{{true, refused.Reason, refused.Message}}
	}
	var all []News
	if refusalOf(before) != nil {
		all = append(all, News{false, accepted, "it is accepted again"})
	}
	return append(all, grouped(listeners)...)
}

// refusalOf returns why a Gateway or a ListenerSet is refused as a whole; nil if it isn't. Listeners that are refused
// have news of their own.
func refusalOf(conditions []metav1.Condition) *metav1.Condition {
	if c := falseOf(conditions, accepted); c != nil && c.Reason != string(gatewayv1.GatewayReasonListenersNotValid) {
		return c
	}
	return nil
}

// grouped returns one News for all listeners with the same change. A Gateway with many listeners has few Events.
func grouped(listeners []verdict) []News {
	var all []News
	names := map[News][]string{}
	for i := range listeners {
		news := listeners[i].news()
		if news == nil {
			continue
		}
		if names[*news] == nil {
			all = append(all, *news)
		}
		names[*news] = append(names[*news], listeners[i].name)
	}
	for i := range all {
		list := names[all[i]]
		what := "listener "
		if len(list) > 1 {
			what = "listeners "
		}
		if len(list) > maxNamed {
			list = append(list[:maxNamed:maxNamed], fmt.Sprintf("and %d more", len(list)-maxNamed))
		}
		all[i].Message = what + strings.Join(list, ", ") + ": " + all[i].Message
	}
	return all
}

// maxNamed bounds how many listeners an Event names.
const maxNamed = 8

// news returns the change of a listener; nil without one. Waiting for a number or an address is no change.
func (v *verdict) news() *News {
	for _, kind := range [...]string{accepted, resolved} {
		if no := falseOf(v.after, kind); no != nil && !isTold(falseOf(v.before, kind), no) {
			return &News{true, no.Reason, no.Message}
		}
	}
	switch {
	case falseOf(v.after, accepted) != nil:
	case meta.IsStatusConditionTrue(v.after, programmed) && !meta.IsStatusConditionTrue(v.before, programmed):
		return &News{false, programmed, "on the mux"}
	case falseOf(v.before, accepted) != nil:
		return &News{false, accepted, "no longer refused"}
	}
	return nil
}

func falseOf(conditions []metav1.Condition, kind string) *metav1.Condition {
	if c := meta.FindStatusCondition(conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
		return c
	}
	return nil
}

// isTold is true for a refusal that the status had before.
func isTold(before, now *metav1.Condition) bool {
	return before != nil && before.Reason == now.Reason && before.Message == now.Message
}
