package gatewayapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// sentence is a rule of the specification of ListenerSets, in our words, and a check of it over TCP.
// docs/gatewayclass.md lists the rules without a check here.
type sentence struct {
	says  string
	check func(*stage)
}

const all, same = "from: All", "from: Same"

// Groups of conditions.
const (
	fine       = "Accepted=True/Accepted Programmed=True/Programmed"
	noConflict = "Conflicted=False/NoConflicts"
	resolved   = "ResolvedRefs=True/ResolvedRefs"
	notAllowed = "Accepted=False/NotAllowed Programmed=False/NotAllowed"
	notValid   = "Accepted=False/ListenersNotValid Programmed=False/ListenersNotValid"
	conflict   = "Accepted=False/ListenerConflict Programmed=False/ListenerConflict Conflicted=True/ListenerConflict"
	untouched  = "Accepted=Unknown/Pending Programmed=Unknown/Pending listeners="
)

// admission is about allowedListeners in gateway_types.go.
var admission = []sentence{
	{"a Gateway that says nothing of allowedListeners admits no ListenerSet", func(g *stage) {
		g.gateway("", tcp("own", 9000))
		g.set("infra/one", tcp("tcp", 9001))
		g.set("a/one", tcp("tcp", 9002))
		g.route("a/r", web, one)
		g.want("set infra/one: "+notAllowed+" listeners=", "set a/one: "+notAllowed+" listeners=", "gateway: "+fine+" sets=0",
			"route a/r at one: Accepted=False/NoMatchingParent", "mux: ports=9000/TCP", "port 9002: nothing")
	}},
	{"allowedListeners without a word of namespaces admits none, as None does", func(g *stage) {
		g.make(strings.Replace(gatewayOf("mux", "", tcp("own", 9000)), "spec: {", "spec: {allowedListeners: {}, ", 1))
		g.set("infra/one", tcp("tcp", 9001))
		g.want("set infra/one: "+notAllowed, "gateway: sets=0")
	}},
	{"None admits no ListenerSet, also one that was admitted before", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("tcp", 9001))
		g.route("a/r", web, one)
		g.want("set a/one: "+fine, "gateway: sets=1", "port 9001: a")
		g.gateway("from: None", tcp("own", 9000))
		g.want("set a/one: "+notAllowed+" listeners=", "gateway: sets=0", "mux: ports=9000/TCP", "port 9001: nothing")
	}},
	{"Same admits ListenerSets of the Gateway's namespace alone", func(g *stage) {
		g.gateway(same, tcp("own", 9000))
		g.set("infra/one", tcp("tcp", 9001))
		g.set("a/one", tcp("tcp", 9002))
		g.route("infra/r", web, one)
		g.want("set infra/one: "+fine, "set a/one: "+notAllowed, "gateway: sets=1", "mux: ports=9000/TCP,9001/TCP",
			"port 9001: infra")
	}},
	{"All admits ListenerSets of every namespace", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		for i, namespace := range namespaces {
			g.set(namespace+"/one", tcp("tcp", 9001+i))
			g.route(namespace+"/r", web, one)
		}
		g.want("set infra/one: "+fine, "set a/one: "+fine, "set b/one: "+fine, "gateway: sets=3", "port 9001: infra",
			"port 9002: a", "port 9003: b")
	}},
	{"Selector admits namespaces by their labels, and follows the labels", func(g *stage) {
		g.gateway("from: Selector, selector: {matchLabels: {team: a}}", tcp("own", 9000))
		g.set("a/one", tcp("tcp", 9001))
		g.set("b/one", tcp("tcp", 9002))
		g.route("a/r", web, one)
		g.route("b/r", web, one)
		g.want("set a/one: "+fine, "set b/one: "+notAllowed, "gateway: sets=1", "port 9001: a", "port 9002: nothing")
		g.make("{apiVersion: v1, kind: Namespace, metadata: {name: $a, labels: {team: b}}}")
		g.make("{apiVersion: v1, kind: Namespace, metadata: {name: $b, labels: {team: a}}}")
		g.want("set a/one: "+notAllowed, "set b/one: "+fine, "gateway: sets=1", "port 9001: nothing", "port 9002: b")
	}},
	{"a selector has no meaning unless from is Selector", func(g *stage) {
		g.gateway(same+", selector: {matchLabels: {team: a}}", tcp("own", 9000))
		g.set("infra/one", tcp("tcp", 9001))
		g.set("a/one", tcp("tcp", 9002))
		g.want("set infra/one: "+fine, "set a/one: "+notAllowed)
	}},
	{"attachedListenerSets counts ListenerSets that are admitted and Accepted, and no others", func(g *stage) {
		g.gateway("from: Selector, selector: {matchLabels: {team: a}}", tcp("own", 9000))
		g.set("a/one", tcp("tcp", 9001))
		g.set("a/two", tcp("tcp", 9000))   // conflicts with the Gateway
		g.set("b/three", tcp("tcp", 9002)) // isn't admitted
		g.set("a/four", tcp("tcp", 9000), tcp("free", 9003))
		g.want("gateway: sets=2", "set a/one: "+fine, "set a/two: "+notValid, "set b/three: "+notAllowed,
			"set a/four: Accepted=True/ListenersNotValid")
		g.remove(&gatewayv1.ListenerSet{}, "a/four")
		g.want("gateway: sets=1")
	}},
}

// parents are about parentRef of a ListenerSet in listenerset_types.go.
var parents = []sentence{
	{"without a namespace, parentRef means the ListenerSet's own", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.make(setOf("infra/one", "name: edge", tcp("tcp", 9001)))
		g.make(setOf("a/one", "name: edge", tcp("tcp", 9002)))
		g.want("set infra/one: "+fine, "set a/one: "+untouched, "gateway: sets=1")
	}},
	{"nothing is said of a ListenerSet whose parent is missing, is no Gateway, or is another controller's",
		func(g *stage) {
			g.gateway(all, tcp("own", 9000))
			g.make("{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: elsewhere}, spec: " +
				"{controllerName: example.com/gateway}}")
			g.make(strings.ReplaceAll(gatewayOf("elsewhere", all, tcp("own", 9000)), "name: edge", "name: foreign"))
			g.make(setOf("a/missing", "name: nothing, namespace: $infra", tcp("tcp", 9001)))
			g.make(setOf("a/service", "name: edge, namespace: $infra, kind: Service, group: ''", tcp("tcp", 9002)))
			g.make(setOf("a/foreign", "name: foreign, namespace: $infra", tcp("tcp", 9003)))
			g.set("a/ours", tcp("tcp", 9004))
			g.want("set a/ours: "+fine, "set a/missing: "+untouched, "set a/service: "+untouched, "set a/foreign: "+untouched,
				"gateway: sets=1",
				"mux: ports=9000/TCP,9004/TCP")
		}},
	{"a ListenerSet that comes before its Gateway is served once the Gateway is there", func(g *stage) {
		g.set("a/one", tcp("tcp", 9001))
		g.route("a/r", web, one)
		g.want("set a/one: " + untouched)
		g.gateway(all, tcp("own", 9000))
		g.want("set a/one: "+fine, "port 9001: a")
	}},
	{"a ListenerSet of a Gateway that isn't Accepted is ParentNotAccepted", func(g *stage) {
		g.make(strings.Replace(gatewayOf("mux", all, tcp("own", 9000)), "spec: {",
			"spec: {addresses: [{type: Hostname, value: edge.example.com}], ", 1))
		g.set("a/one", tcp("tcp", 9001))
		g.want("gateway: Accepted=False/UnsupportedAddress sets=0",
			"set a/one: Accepted=False/ParentNotAccepted Programmed=False/ParentNotProgrammed")
		g.make(gatewayOf("mux", all, tcp("own", 9000)))
		g.want("gateway: "+fine, "set a/one: "+fine)
	}},
	{"a ListenerSet of a Gateway that isn't Programmed is ParentNotProgrammed", func(g *stage) {
		g.make(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: template, namespace: $infra},
  data: {service: "spec: {loadBalancerClass: example.com/none}"}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $infra}
spec:
  controllerName: svc-mux.nowake.ai/gateway
  parametersRef: {group: "", kind: ConfigMap, name: template, namespace: $infra}`)
		g.make(gatewayOf("$infra", all, tcp("own", 9000)))
		g.set("a/one", tcp("tcp", 9001))
		g.want("gateway: Accepted=True/Accepted Programmed=False/AddressNotAssigned sets=1",
			"set a/one: Accepted=True/Accepted Programmed=False/ParentNotProgrammed")
	}},
	{"the merged list counts: a ListenerSet is served also if none of the Gateway's own listeners is valid",
		func(g *stage) {
			g.gateway(all, "{name: http, port: 9000, protocol: HTTP}")
			g.set("a/one", tcp("tcp", 9001))
			g.route("a/r", web, one)
			g.want("gateway: Accepted=False/ListenersNotValid Programmed=False/Invalid sets=1", "set a/one: "+fine,
				"port 9001: a")
		}},
	{"the conditions of a ListenerSet follow its own listeners, and the Gateway's follow the Gateway's own",
		func(g *stage) {
			g.gateway(all, tcp("own", 9000), "{name: http, port: 9001, protocol: HTTP}")
			g.set("a/one", tcp("tcp", 9002))
			g.set("a/two", tcp("tcp", 9000))
			g.want("gateway: Accepted=True/ListenersNotValid Programmed=True/Programmed listeners=own,http",
				"set a/one: "+fine+" listeners=tcp",
				"set a/two: "+notValid+" listeners=tcp")
			g.gateway(all, tcp("own", 9000))
			g.want("gateway: "+fine+" listeners=own", "set a/two: "+notValid)
		}},
}

// precedence is about the merged list of listeners in listenerset_types.go, and its conflicts in GEP-1713.
var precedence = []sentence{
	{"the Gateway's own listener comes before that of a ListenerSet", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("tcp", 9000))
		g.route("infra/r", web, edge)
		g.route("a/r", web, one)
		g.want("gateway/own: "+fine+" "+noConflict, "set a/one/tcp: "+conflict, "set a/one: "+notValid, "gateway: sets=0",
			"port 9000: infra")
	}},
	{"the Gateway's own listener comes first also if the ListenerSet had the number before", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("tcp", 9001))
		g.route("a/r", web, one)
		g.route("infra/r", admin, edge)
		g.want("port 9001: a", "port 9000: infra-admin")
		g.gateway(all, tcp("own", 9000), tcp("late", 9001))
		g.want("gateway/late: "+fine+" "+noConflict, "set a/one/tcp: "+conflict, "port 9001: infra-admin")
	}},
	{"an older ListenerSet comes before a younger one, whatever their names", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("b/two", tcp("tcp", 9001))
		g.later()
		g.set("a/one", tcp("tcp", 9001))
		g.route("a/r", web, one)
		g.route("b/r", web, two)
		g.want("set b/two/tcp: "+fine+" "+noConflict, "set a/one/tcp: "+conflict, "gateway: sets=1", "port 9001: b")
	}},
	{"an older ListenerSet comes first also if the younger one had the number before", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("b/two", tcp("tcp", 9002))
		g.later()
		g.set("a/one", tcp("tcp", 9001))
		g.route("a/r", web, one)
		g.route("b/r", web, two)
		g.want("port 9001: a", "port 9002: b")
		g.set("b/two", tcp("tcp", 9001))
		g.want("set b/two/tcp: "+fine+" "+noConflict, "set a/one/tcp: "+conflict, "port 9001: b",
			"mux: ports=9000/TCP,9001/TCP")
	}},
	{"of ListenerSets of one second, the first by namespace and name comes first", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		for { // until both have the same second
			g.set("b/one", tcp("tcp", 9001))
			g.set("a/two", tcp("tcp", 9001))
			b, errB := g.getSet(g.Context(), "b", "one")
			a, errA := g.getSet(g.Context(), "a", "two")
			if err := errors.Join(errA, errB); err != nil {
				g.Fatal(err)
			}
			if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
				break
			}
			g.remove(&gatewayv1.ListenerSet{}, "b/one")
			g.remove(&gatewayv1.ListenerSet{}, "a/two")
		}
		g.route("a/r", web, two)
		g.route("b/r", web, one)
		g.want("set a/two/tcp: "+fine+" "+noConflict, "set b/one/tcp: "+conflict, "port 9001: a")
	}},
	{"listeners of other ListenerSets with other numbers are served side by side", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("tcp", 9001), tcp("more", 9002))
		g.set("b/two", tcp("tcp", 9003))
		g.route("a/r", web, one)
		g.route("b/r", web, two)
		g.want("gateway: sets=2", "mux: ports=9000/TCP,9001/TCP,9002/TCP,9003/TCP", "port 9001: a", "port 9002: a",
			"port 9003: b")
	}},
	{"a name may be used again in the Gateway and in each ListenerSet", func(g *stage) {
		g.gateway(all, tcp("tcp", 9000))
		g.set("a/one", tcp("tcp", 9001))
		g.set("a/two", tcp("tcp", 9002))
		g.route("infra/r", web, edge+", sectionName: tcp")
		g.route("a/r", web, one+", sectionName: tcp")
		g.route("a/s", admin, two+", sectionName: tcp")
		g.want("gateway/tcp: "+fine+" routes=1", "set a/one/tcp: "+fine+" routes=1", "set a/two/tcp: "+fine+" routes=1",
			"port 9000: infra",
			"port 9001: a", "port 9002: a-admin")
	}},
	{"another protocol on the number is a ProtocolConflict, and the first listener in the list isn't conflicted",
		func(g *stage) {
			g.gateway(all, tcp("own", 9000), "{name: http, port: 9001, protocol: HTTP}")
			g.set("a/one", "{name: http, port: 9000, protocol: HTTP}")
			g.set("a/two", tcp("tcp", 9001))
			g.want("gateway/own: "+fine+" "+noConflict,
				"set a/one/http: Accepted=False/UnsupportedProtocol Conflicted=True/ProtocolConflict",
				"gateway/http: Accepted=False/UnsupportedProtocol "+noConflict,
				"set a/two/tcp: Accepted=False/ProtocolConflict Programmed=False/ProtocolConflict Conflicted=True/ProtocolConflict")
		}},
	{"within a ListenerSet no conflicting listener wins, and the port is on no network element", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("tcp", 9001), "{name: http, port: 9001, protocol: HTTP}", tcp("free", 9002))
		g.want("set a/one/tcp: Accepted=False/ProtocolConflict Conflicted=True/ProtocolConflict",
			"set a/one/http: Conflicted=True/ProtocolConflict",
			"set a/one/free: "+fine+" "+noConflict, "set a/one: Accepted=True/ListenersNotValid Programmed=True/Programmed",
			"gateway: sets=1",
			"mux: ports=9000/TCP,9002/TCP")
	}},
	{"TCP and UDP with one number are distinct", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("tcp", 9001))
		g.set("b/two", "{name: udp, port: 9001, protocol: UDP}")
		g.route("a/r", web, one)
		g.want("set a/one/tcp: "+fine+" "+noConflict, "set b/two/udp: "+fine+" "+noConflict+" kinds=UDPRoute",
			"mux: ports=9000/TCP,9001/TCP,9001/UDP",
			"port 9001: a")
	}},
	{"a conflict says nothing of the other tenant", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("tcp", 9001))
		g.later()
		g.set("b/two", tcp("tcp", 9001))
		g.want("set b/two/tcp: " + conflict)
		for _, condition := range []string{"Accepted", "Programmed", "Conflicted"} {
			if says := g.message("b", "two", "tcp", condition); says == "" || strings.Contains(says, g.real("a")) ||
				strings.Contains(says, "one ") {
				g.Errorf("%s says: %s", condition, says)
			}
		}
	}},
	{"a route attaches to a conflicted listener, and is served once the conflict is gone", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("tcp", 9001))
		g.later()
		g.set("b/two", tcp("tcp", 9001))
		g.route("a/r", web, one)
		g.route("b/r", web, two)
		g.want("set b/two/tcp: "+conflict+" routes=1", "route b/r at two: Accepted=True/Accepted", "port 9001: a")
		g.remove(&gatewayv1.ListenerSet{}, "a/one")
		g.want("set b/two/tcp: "+fine+" "+noConflict+" routes=1", "set b/two: "+fine, "gateway: sets=1", "port 9001: b")
	}},
	{"what a ListenerSet that is deleted had goes, and the others stay", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("tcp", 9001))
		g.set("b/two", tcp("tcp", 9002))
		g.route("a/r", web, one)
		g.route("b/r", web, two)
		g.want("gateway: sets=2", "port 9001: a", "port 9002: b")
		g.remove(&gatewayv1.ListenerSet{}, "a/one")
		g.want("gateway: sets=1", "route a/r: parents=0", "mux: ports=9000/TCP,9002/TCP", "port 9001: nothing",
			"port 9002: b")
	}},
}

// routes are about parentRefs of routes in GEP-1713, and about allowedRoutes and attachedRoutes in
// listenerset_types.go.
var routes = []sentence{
	{"a route to a ListenerSet without sectionName attaches to all its listeners", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("x", 9001), tcp("z", 9002))
		g.route("a/r", web, one)
		g.want("route a/r at one: Accepted=True/Accepted "+resolved, "set a/one/x: routes=1", "set a/one/z: routes=1",
			"gateway/own: routes=0", "port 9001: a", "port 9002: a", "port 9000: nothing")
	}},
	{"a route with sectionName attaches to that listener of the ListenerSet alone", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("x", 9001), tcp("z", 9002))
		g.route("a/r", web, one+", sectionName: z")
		g.want("route a/r at one/z: Accepted=True/Accepted", "set a/one/x: routes=0", "set a/one/z: routes=1",
			"port 9001: nothing", "port 9002: a")
	}},
	{"a route with port attaches to the listeners of the ListenerSet that have it", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("x", 9001), tcp("z", 9002))
		g.route("a/r", web, one+", port: 9002")
		g.want("route a/r at one: Accepted=True/Accepted", "set a/one/x: routes=0", "set a/one/z: routes=1",
			"port 9001: nothing", "port 9002: a")
	}},
	{"a route to a sectionName that the ListenerSet hasn't isn't Accepted, also if the Gateway has it", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("x", 9001))
		g.route("a/r", web, one+", sectionName: own")
		g.want("route a/r at one/own: Accepted=False/NoMatchingParent", "set a/one/x: "+fine+" routes=0",
			"gateway/own: routes=0")
	}},
	{"a route to a sectionName of the Gateway doesn't find that of a ListenerSet", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("infra/one", tcp("x", 9001))
		g.route("infra/r", web, edge+", sectionName: x")
		g.want("route infra/r at edge/x: Accepted=False/NoMatchingParent", "set infra/one/x: "+fine+" routes=0",
			"port 9001: nothing")
	}},
	{"a route to the Gateway attaches to none of its ListenerSets", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("infra/one", tcp("x", 9001))
		g.route("infra/r", web, edge)
		g.want("gateway/own: routes=1", "set infra/one/x: "+fine+" routes=0", "port 9000: infra", "port 9001: nothing")
	}},
	{"a route with two parents is told of each by itself, and of no other", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("infra/one", tcp("x", 9001))
		g.route("infra/r", web, edge+", sectionName: own", one+", sectionName: nothing")
		g.want("route infra/r: parents=2", "route infra/r at edge/own: Accepted=True/Accepted",
			"route infra/r at one/nothing: Accepted=False/NoMatchingParent",
			"port 9000: infra", "port 9001: nothing")
		g.route("infra/r", web, edge+", sectionName: nothing", one+", sectionName: x")
		g.want("route infra/r: parents=2", "route infra/r at edge/nothing: Accepted=False/NoMatchingParent",
			"route infra/r at one/x: Accepted=True/Accepted",
			"port 9000: nothing", "port 9001: infra")
		g.route("infra/r", web, edge+", sectionName: own", one+", sectionName: x")
		g.want("route infra/r: parents=2", "gateway/own: routes=1", "set infra/one/x: routes=1", "port 9000: infra",
			"port 9001: infra")
	}},
	{"without allowedRoutes, only routes of the ListenerSet's own namespace attach, and not of the Gateway's",
		func(g *stage) {
			g.gateway(all, tcp("own", 9000))
			g.set("a/one", tcp("x", 9001))
			g.route("infra/r", web, one+", namespace: $a")
			g.route("b/r", web, one+", namespace: $a")
			g.route("a/r", admin, one)
			g.want("route infra/r at one: Accepted=False/NotAllowedByListeners",
				"route b/r at one: Accepted=False/NotAllowedByListeners",
				"route a/r at one: Accepted=True/Accepted", "set a/one/x: routes=1", "port 9001: a-admin")
		}},
	{"allowedRoutes lets routes of all namespaces attach to a ListenerSet, or of those with a label", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("every", 9001, "allowedRoutes: {namespaces: {from: All}}"),
			tcp("some", 9002, "allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: b}}}}"))
		g.route("infra/r", web, one+", namespace: $a")
		g.want("route infra/r at one: Accepted=True/Accepted", "set a/one/every: routes=1", "set a/one/some: routes=0",
			"port 9001: infra", "port 9002: nothing")
		g.route("b/r", admin, one+", namespace: $a, sectionName: some")
		g.want("route b/r at one/some: Accepted=True/Accepted", "set a/one/some: routes=1", "port 9001: infra",
			"port 9002: b-admin")
		g.make("{apiVersion: v1, kind: Namespace, metadata: {name: $b, labels: {team: none}}}")
		g.want("route b/r at one/some: Accepted=False/NotAllowedByListeners", "set a/one/some: routes=0",
			"port 9002: nothing")
	}},
	{"a ListenerSet's route reaches backends of its own namespace without a grant, and others with a grant for the " +
		"route's namespace alone", func(g *stage) {
		const grant = `
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: grant, namespace: $b}
spec: {from: [{group: gateway.networking.k8s.io, kind: %s, namespace: %s}],
  to: [{group: "", kind: Service, name: web}]}`
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("x", 9001), tcp("z", 9002))
		g.route("a/own", web, one+", sectionName: x")
		g.route("a/r", web+", namespace: $b", one+", sectionName: z")
		g.want("route a/own at one/x: Accepted=True/Accepted "+resolved,
			"route a/r at one/z: Accepted=True/Accepted ResolvedRefs=False/RefNotPermitted",
			"set a/one/z: routes=1", "port 9001: a", "port 9002: nothing")
		for _, other := range [][2]string{{"Gateway", "$infra"}, {"ListenerSet", "$a"}, {"TCPRoute", "$infra"}} {
			g.make(fmt.Sprintf(grant, other[0], other[1]))
			// a status of this route shows that the grant was read
			g.route("a/marker-"+strings.ToLower(other[0]), web, one+", sectionName: x")
			g.want("route a/marker-"+strings.ToLower(other[0])+" at one/x: Accepted=True/Accepted", "route a/r at one/z: "+
				"ResolvedRefs=False/RefNotPermitted",
				"port 9002: nothing")
		}
		g.make(fmt.Sprintf(grant, "TCPRoute", "$a"))
		g.want("route a/r at one/z: Accepted=True/Accepted "+resolved, "port 9002: b")
		g.remove(&gatewayv1.ReferenceGrant{}, "b/grant")
		g.want("route a/r at one/z: ResolvedRefs=False/RefNotPermitted", "port 9002: nothing")
	}},
	{"the oldest route of a listener carries, and all of them are counted", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("x", 9001))
		g.route("a/r", web, one)
		g.later()
		g.route("a/older-by-name", admin, one)
		g.want("route a/r at one: Accepted=True/Accepted", "route a/older-by-name at one: Accepted=True/Accepted",
			"set a/one/x: routes=2", "port 9001: a")
		g.remove(&gatewayv1.TCPRoute{}, "a/r")
		g.want("set a/one/x: routes=1", "port 9001: a-admin")
	}},
	{"attachedRoutes counts no route that isn't Accepted, and is there for a listener that isn't", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("x", 9000))
		g.route("a/r", web, one)
		g.route("a/weighted", web+"}, {name: web, port: 81, weight: 3", one)
		g.want("route a/weighted at one: Accepted=False/UnequalWeights", "set a/one/x: "+conflict+" routes=1")
	}},
}

// listeners are about the listeners of a ListenerSet and their status in listenerset_types.go.
var listeners = []sentence{
	{"a listener without routes is Accepted and Programmed, with all four conditions", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("x", 9001))
		g.want("set a/one: "+fine, "set a/one/x: "+fine+" "+noConflict+" "+resolved+" routes=0 kinds=TCPRoute",
			"mux: ports=9000/TCP,9001/TCP")
	}},
	{"conditions have the generation of the ListenerSet that they are about", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("x", 9001))
		g.route("a/r", web, one)
		g.want("set a/one: "+fine, "port 9001: a")
		g.set("a/one", tcp("x", 9002), tcp("z", 9000)) // want calls an older generation stale
		g.want("set a/one: Accepted=True/ListenersNotValid Programmed=True/Programmed listeners=x,z", "set a/one/x: "+fine,
			"set a/one/z: "+conflict,
			"port 9001: nothing", "port 9002: a", "mux: ports=9000/TCP,9002/TCP")
		set, err := g.getSet(g.Context(), "a", "one")
		if err != nil || set.Generation != 2 {
			g.Errorf("generation %d: %v", set.Generation, err)
		}
	}},
	{"a protocol that isn't supported makes a listener UnsupportedProtocol", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", "{name: http, port: 9001, protocol: HTTP}", tcp("x", 9002))
		g.set("a/two", "{name: http, port: 9003, protocol: HTTP}")
		g.want("set a/one/http: Accepted=False/UnsupportedProtocol Programmed=False/Invalid "+noConflict+" kinds=",
			"set a/one/x: "+fine,
			"set a/one: Accepted=True/ListenersNotValid Programmed=True/Programmed", "set a/two: "+notValid, "gateway: sets=1",
			"mux: ports=9000/TCP,9002/TCP")
	}},
	{"supportedKinds has the valid kinds alone, and others make the listener InvalidRouteKinds", func(g *stage) {
		g.gateway(all, tcp("own", 9000))
		g.set("a/one", tcp("none", 9001, "allowedRoutes: {kinds: [{kind: HTTPRoute}]}"),
			tcp("both", 9002, "allowedRoutes: {kinds: [{kind: HTTPRoute}, {kind: TCPRoute}]}"))
		g.route("a/r", web, one)
		g.want("set a/one/none: ResolvedRefs=False/InvalidRouteKinds kinds= routes=0",
			"set a/one/both: Accepted=True/Accepted ResolvedRefs=False/InvalidRouteKinds kinds=TCPRoute routes=1",
			"port 9002: a")
	}},
	{"a number that can't be assigned makes a listener PortUnavailable", func(g *stage) {
		g.make(strings.Replace(gatewayOf("mux", all, tcp("own", 9000)), "spec: {",
			`spec: {infrastructure: {annotations: {svc-mux.nowake.ai/max-ports: "2"}}, `, 1))
		g.set("a/one", tcp("x", 9001))
		g.want("set a/one: " + fine)
		g.set("b/two", tcp("x", 9002))
		g.want("set b/two/x: Accepted=False/PortUnavailable Programmed=False/Invalid "+noConflict, "set b/two: "+notValid,
			"gateway: sets=1",
			"mux: ports=9000/TCP,9001/TCP")
	}},
	{"the API server refuses a ListenerSet with two listeners of one name, or of one number and protocol, and a " +
		"hostname for TCP", func(g *stage) {
		for _, listeners := range []string{tcp("x", 9001) + ", " + tcp("x", 9002), tcp("x", 9001) + ", " + tcp("z", 9001),
			tcp("x", 9001, "hostname: a.example.com")} {
			set := g.objects(setOf("a/one", edge, listeners))[0]
			if err := g.api.Create(g.Context(), set); !apierrors.IsInvalid(err) {
				g.Errorf("%s: %v", listeners, err)
			}
		}
	}},
}

// testListenerSets checks the specification sentence by sentence.
func testListenerSets(t *testing.T, s *served) {
	for about, sentences := range map[string][]sentence{"admission": admission, "parents": parents,
		"precedence": precedence, "routes": routes, "listeners": listeners} {
		for i, one := range sentences {
			t.Run(about+"/"+one.says, func(t *testing.T) {
				t.Parallel()
				g := s.stage(t, fmt.Sprintf("%s-%d", about, i))
				one.check(g)
				g.clear()
			})
		}
	}
}

// clear deletes the stage's Gateways, so that the cluster stays small.
func (g *stage) clear() {
	if err := g.api.DeleteAllOf(g.Context(), &gatewayv1.Gateway{}, client.InNamespace(g.real("infra"))); err != nil {
		g.Error(err)
	}
}
