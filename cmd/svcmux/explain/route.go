package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/validation"
)

// routeNamed returns the kind and name in an argument such as tcproute/broker-0 or tcproute/shop/broker-0; false if it
// names no route.
func routeNamed(argument string) (kind string, key types.NamespacedName, is bool) {
	prefix, name, _ := strings.Cut(argument, "/")
	for _, kind := range [...]string{read.TCPRoute, read.UDPRoute} {
		if strings.EqualFold(prefix, kind) || strings.EqualFold(prefix, kind+"s") {
			key, err := look.Name(name)
			return kind, key, err == nil
		}
	}
	return "", types.NamespacedName{}, false
}

// inNamespace returns an error if an argument has another namespace than the flag -n.
func (o *options) inNamespace(argument, namespace string) error {
	if given := o.Kube.NamespaceGiven(); given != "" && namespace != "" && given != namespace {
		return cli.Usagef("%s is in namespace %s, and -n says %s: leave one out", cli.Shown(argument), cli.Shown(namespace),
			cli.Shown(given))
	}
	return nil
}

// routeChain reads a route, and returns its chain, made from its status and that of its ListenerSets.
func routeChain(ctx context.Context, cluster *kube.Cluster, language validation.Language, kind string,
	key types.NamespacedName) (view.Chain, error) {
	object := read.NewRoute(kind)
	path := fmt.Sprintf("/apis/%s/namespaces/%s/%ss/%s", gatewayv1.GroupVersion.String(), key.Namespace,
		strings.ToLower(kind), key.Name)
	found, err := cluster.JSON(ctx, path, object)
	if err != nil {
		return view.Chain{}, err
	}
	if !found {
		object = nil
	}
	return chainOfRoute(language, kind, key, object, parentSets(ctx, cluster, object)), nil
}

// parentSets reads the ListenerSets that are a route's parents. It leaves out those that can't be read: the route's own
// status tells most.
func parentSets(ctx context.Context, cluster *kube.Cluster,
	object read.Object) map[types.NamespacedName]*gatewayv1.ListenerSet {
	route, is := read.RouteOf(object)
	if !is || object == nil {
		return nil
	}
	sets := map[types.NamespacedName]*gatewayv1.ListenerSet{}
	for i := range route.Spec.ParentRefs {
		ref := &route.Spec.ParentRefs[i]
		kind, key := read.ParentOf(&route, ref)
		if kind != "ListenerSet" {
			continue
		}
		var set gatewayv1.ListenerSet
		path := fmt.Sprintf("/apis/%s/namespaces/%s/listenersets/%s", gatewayv1.GroupVersion.String(), key.Namespace,
			key.Name)
		if found, err := cluster.JSON(ctx, path, &set); found && err == nil {
			sets[key] = &set
		}
	}
	return sets
}

// portLinks returns a link for each listener that a parentRef names: is its port open? If at least one port is open,
// packets have a way. Then a closed port is only a warning.
func portLinks(set *gatewayv1.ListenerSet, ref *gatewayv1.ParentReference) (links []view.Link) {
	numbers := map[gatewayv1.SectionName]gatewayv1.PortNumber{}
	for _, entry := range set.Spec.Listeners {
		numbers[entry.Name] = entry.Port
	}
	for i := range set.Status.Listeners {
		listener := &set.Status.Listeners[i]
		if (ref.SectionName == nil || *ref.SectionName == listener.Name) &&
			(ref.Port == nil || *ref.Port == numbers[listener.Name]) {
			links = append(links, listenerLink(set, listener))
		}
	}
	if slices.ContainsFunc(links, func(link view.Link) bool { return link.State == "ok" }) {
		for i := range links {
			if links[i].State == "bad" {
				links[i].State = "warn"
			}
		}
	}
	return links
}

// listenerLink says whether the port of a listener is open.
func listenerLink(set *gatewayv1.ListenerSet, listener *gatewayv1.ListenerEntryStatus) view.Link {
	text := fmt.Sprintf("listener %s of ListenerSet %s/%s", listener.Name, set.Namespace, set.Name)
	for _, kind := range [...]gatewayv1.ListenerEntryConditionType{gatewayv1.ListenerEntryConditionAccepted,
		gatewayv1.ListenerEntryConditionProgrammed} {
		switch said := meta.FindStatusCondition(listener.Conditions, string(kind)); {
		case said == nil:
			return view.Link{Name: "port", State: "warn",
				Text: fmt.Sprintf("%s: the implementation doesn't say whether it is %s", text, kind)}
		case said.Status != metav1.ConditionTrue:
			return view.Link{Name: "port", State: "bad", Text: text + ": " + said.Message, Reason: said.Reason}
		}
	}
	return view.Link{Name: "port", State: "ok", Text: text + " is open"}
}

// chainOfRoute returns the chain of a route; the object is nil if it doesn't exist. Sets are the ListenerSets that are
// its parents.
func chainOfRoute(language validation.Language, kind string, key types.NamespacedName, object read.Object,
	sets map[types.NamespacedName]*gatewayv1.ListenerSet) view.Chain {
	c := view.Chain{Schema: view.Schema, Namespace: key.Namespace, Name: strings.ToLower(kind) + "/" + key.Name,
		Kind: "route", Links: []view.Link{}}
	add := func(name, state, text, reason, mend string) {
		c.Links = append(c.Links, view.Link{Name: name, State: state, Text: text, Reason: reason, Mend: mend})
		c.Whole = c.Whole && state != "bad"
	}
	c.Whole = true
	route, is := read.RouteOf(object)
	if !is || object == nil {
		add("route", "bad", fmt.Sprintf("there is no %s %s", kind, key), "",
			"check its name and its namespace, and whether the cluster has the CRDs of the Gateway API")
		return c
	}
	add("route", "ok", "a "+kind, "", "")
	keys := language.Keys()
	if route.AsksForNumber(language) {
		gateway := route.Object.GetAnnotations()[keys.Gateway]
		switch said := conditionOf(route.Said(&keys), keys.Accepted); {
		case said == nil:
			add("number", "bad", "the allocator says nothing about it", "",
				"is gatewayApi.allocator on in the chart, and does the reconciler run?")
		case said.Status != metav1.ConditionTrue:
			add("number", "bad", said.Message, said.Reason, "")
		default:
			add("number", "ok", fmt.Sprintf("%s on Gateway %s", route.Object.GetAnnotations()[keys.Ports], gateway), "", "")
		}
	}
	others := 0
	for i := range route.Status.Parents {
		p := &route.Status.Parents[i]
		if p.ControllerName == read.Controller(&keys) {
			continue
		}
		others++
		parent := fmt.Sprintf("%s %s, by %s", ptr.Deref(p.ParentRef.Kind, "Gateway"), parentName(p, key.Namespace),
			p.ControllerName)
		switch said := conditionOf(p, string(gatewayv1.RouteConditionAccepted)); {
		case said == nil:
			add("parent", "warn", parent+": it doesn't say whether it accepts the route", "", "")
		case said.Status != metav1.ConditionTrue:
			add("parent", "bad", parent+": "+said.Message, said.Reason, "")
		case said.Message != "" && said.Message != said.Reason:
			add("parent", "ok", parent+": accepted; "+said.Message, "", "")
		default:
			add("parent", "ok", parent+": accepted", "", "")
		}
		if said := conditionOf(p, string(gatewayv1.RouteConditionResolvedRefs)); said != nil &&
			said.Status != metav1.ConditionTrue {
			add("backends", "bad", said.Message, said.Reason, "")
		}
	}
	for i := range route.Spec.ParentRefs {
		ref := &route.Spec.ParentRefs[i]
		kind, parent := read.ParentOf(&route, ref)
		if set := sets[parent]; kind == "ListenerSet" && set != nil {
			for _, link := range portLinks(set, ref) {
				add(link.Name, link.State, link.Text, link.Reason, "")
			}
		}
	}
	if others == 0 {
		add("parent", "bad", "no implementation of the Gateway API says anything about it", "",
			"see whether the Gateway or ListenerSet of its parentRefs exists, and whether the implementation knows it")
	}
	return c
}

func parentName(p *gatewayv1.RouteParentStatus, namespace string) string {
	name := string(ptr.Deref(p.ParentRef.Namespace, gatewayv1.Namespace(namespace))) + "/" + string(p.ParentRef.Name)
	if p.ParentRef.SectionName != nil {
		name += ", listener " + string(*p.ParentRef.SectionName)
	}
	return name
}

func conditionOf(p *gatewayv1.RouteParentStatus, kind string) *metav1.Condition {
	if p == nil {
		return nil
	}
	for i := range p.Conditions {
		if p.Conditions[i].Type == kind {
			return &p.Conditions[i]
		}
	}
	return nil
}

// runRoute explains a route.
func (o *options) runRoute(ctx context.Context, env cli.Env, kind string, key types.NamespacedName) error {
	cluster, ask, err := o.Open(ctx, env)
	if err != nil {
		return err
	}
	key.Namespace = cmp.Or(key.Namespace, ask.Namespace)
	done := env.Progress("reading from " + cluster.Server)
	chain, err := routeChain(ctx, cluster, ask.Language, kind, key)
	done()
	if err != nil {
		return err
	}
	return o.print(env, []view.Chain{chain})
}
