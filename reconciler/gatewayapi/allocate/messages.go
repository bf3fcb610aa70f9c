package allocate

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
	"nowake.ai/svc-lb-mux/validation"
)

// ListenerSetTaken is the reason for refusing a route whose ListenerSet belongs to a user, or to another route.
const ListenerSetTaken validation.Reason = "ListenerSetTaken"

// NoListenerSets is the reason for not publishing a route's number: the API server doesn't serve ListenerSets.
const NoListenerSets validation.Reason = "NoListenerSets"

func textNoSets() string {
	return "the API server doesn't serve ListenerSets, so no number can be published: install their CRD again; each " +
		"route keeps its number meanwhile"
}

func (o *Options) textUnserved(gateway types.NamespacedName) string {
	return fmt.Sprintf("%sin %s alone, and Gateway %s isn't there: name a Gateway in one of those namespaces, or have "+
		"that reconciler serve namespace %s too (rbac.muxNamespaces of the chart, --mux-namespaces)", o.textServer(),
		strings.Join(o.Namespaces, ", "), gateway, gateway.Namespace)
}

// textServer begins the messages of one reconciler. mayReport recognizes them by it.
func (o *Options) textServer() string {
	return fmt.Sprintf("the reconciler %s gives numbers on Gateways ", o.Name)
}

// textNotMine returns the problem of a route whose ListenerSet belongs to a user, or was made for another route.
func (l *line) textNotMine(set *gatewayv1.ListenerSet) validation.Problem {
	name := client.ObjectKeyFromObject(set)
	if route, is := read.MadeFor(set); is && read.IsMade(&l.keys, set) {
		return textShared(name, route)
	}
	return textTaken(name, l.keys.Managed)
}

func textTaken(set types.NamespacedName, key string) validation.Problem {
	return validation.Problem{Reason: ListenerSetTaken, Field: "spec.parentRefs", Value: set.Name,
		Message: fmt.Sprintf("spec.parentRefs: ListenerSet %s is there, "+
			"and wasn't made for this route (label %s, and the route as its owner): name another one, or delete it", set, key)}
}

func textShared(set, by types.NamespacedName) validation.Problem {
	return validation.Problem{Reason: ListenerSetTaken, Field: "spec.parentRefs", Value: set.Name,
		Message: fmt.Sprintf("spec.parentRefs: ListenerSet %s is %s's: "+
			"each route needs a ListenerSet of its own, so name another one", set, by)}
}

func textUnreadable(name string, why error) string {
	return fmt.Sprintf("the API server doesn't let ConfigMap %s be read: %s", name, refusal.Words(why))
}
