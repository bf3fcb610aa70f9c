package status

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/gatewayapi/read"
)

// NotCarried is the reason of an Event about an accepted route whose listener carries an older route.
const NotCarried = "NotCarried"

// News is the content of an Event about an object whose status changed.
type News struct {
	Warning         bool
	Reason, Message string
}

// verdict is what is said of a listener, before and after a change of the status.
type verdict struct {
	name          string
	before, after []metav1.Condition
}

// GatewayNews returns what changed between a Gateway's status and the next one. A process that starts finds the status that the last one wrote, so it
// tells nothing twice.
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

// refusalOf returns why a Gateway or a ListenerSet is refused as a whole; nil if it isn't. Refused listeners are told one by one.
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

// news returns what is new about a listener; nil if nothing is. A listener that waits for its number or its address has no news.
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

// RouteNews returns what changed between two lists of what our controller says of a route's parents.
func RouteNews(controller gatewayv1.GatewayController, route *read.Route, after []gatewayv1.RouteParentStatus) []News {
	var all []News
	for i := range after {
		now := &after[i]
		if now.ControllerName != controller {
			continue
		}
		var before []metav1.Condition
		if at := slices.IndexFunc(route.Status.Parents, func(p gatewayv1.RouteParentStatus) bool {
			return p.ControllerName == controller && equality.Semantic.DeepEqual(p.ParentRef, now.ParentRef)
		}); at >= 0 {
			before = route.Status.Parents[at].Conditions
		}
		for _, news := range parentNews(before, now.Conditions) {
			kind, key := read.ParentOf(route, &now.ParentRef)
			news.Message = fmt.Sprintf("%s %s: %s", kind, key, news.Message)
			all = append(all, news)
		}
	}
	return all
}

// parentNews returns what is new about a route and one of its parents.
func parentNews(before, after []metav1.Condition) []News {
	if no := falseOf(after, accepted); no != nil {
		if isTold(falseOf(before, accepted), no) {
			return nil
		}
		return []News{{true, no.Reason, no.Message}}
	}
	var all []News
	was, is := olderOf(before), olderOf(after)
	switch {
	case is != "" && is != was:
		all = append(all, News{true, NotCarried, is})
	case falseOf(before, accepted) != nil:
		all = append(all, News{false, accepted, "no longer refused"})
	case is == "" && was != "":
		all = append(all, News{false, accepted, "carried now"})
	}
	switch no, had := falseOf(after, resolved), falseOf(before, resolved); {
	case no != nil && !isTold(had, no):
		all = append(all, News{true, no.Reason, no.Message})
	case no == nil && had != nil:
		all = append(all, News{false, resolved, "all backends are found"})
	}
	return all
}

// olderOf returns the message of an accepted route whose listener carries an older one; empty if the route is carried.
func olderOf(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, accepted); c != nil && c.Status == metav1.ConditionTrue {
		return c.Message
	}
	return ""
}
