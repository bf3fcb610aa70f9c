package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

// NotCarried is the reason of an Event about an accepted route whose listener carries an older route.
const NotCarried = "NotCarried"

// RouteNews returns the changes between the entries of our controller in a route's status and the next ones.
func RouteNews(controller gatewayv1.GatewayController, route *read.Route, after []gatewayv1.RouteParentStatus) []News {
	var all []News
	for i := range after {
		now := &after[i]
		if now.ControllerName != controller {
			continue
		}
		for _, news := range parentNews(conditionsOf(route.Status.Parents, controller, &now.ParentRef), now.Conditions) {
			kind, key := read.ParentOf(route, &now.ParentRef)
			news.Message = fmt.Sprintf("%s %s: %s", kind, key, news.Message)
			all = append(all, news)
		}
	}
	return all
}

// parentNews returns the changes between two lists of conditions about one parent of a route.
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

// olderOf returns the message of an accepted route whose listener carries an older route; otherwise empty.
func olderOf(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, accepted); c != nil && c.Status == metav1.ConditionTrue {
		return c.Message
	}
	return ""
}
