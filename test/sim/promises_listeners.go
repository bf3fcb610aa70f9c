package sim

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/sim/api"
	"nowake.ai/svc-lb-mux/test/sim/contract"
)

// routing has the objects of the Gateway API after the change that is being checked.
type routing struct {
	contract.Routing
	listeners map[types.NamespacedName]*contract.Listener
}

func newRouting(prefix string) routing {
	return routing{Routing: contract.Routing{Prefix: prefix, Classes: map[types.NamespacedName]*gatewayv1.GatewayClass{},
		Gateways: map[types.NamespacedName]*gatewayv1.Gateway{}, Sets: map[types.NamespacedName]*gatewayv1.ListenerSet{}}}
}

// routed follows the objects of the Gateway API, and checks our writes of them.
func (p *promises) routed(c *api.Change, process *process) string {
	before := p.routing.listeners
	switch c.Kind {
	case api.GatewayClasses:
		follow(p.routing.Classes, c)
	case api.Gateways:
		follow(p.routing.Gateways, c)
	case api.ListenerSets:
		follow(p.routing.Sets, c)
	}
	p.routing.listeners = p.routing.Listeners()
	if c.By != "" {
		return p.status(c, process)
	}
	asksElse := func(key types.NamespacedName) bool {
		return !claimants.IsService(key) && askText(before[key]) != askText(p.routing.listeners[key])
	}
	p.excuse(func(claim *plan.Claim) bool { return asksElse(claim.Owner.Channel) })
	maps.DeleteFunc(p.told, func(_ place, owner plan.PortID) bool { return asksElse(owner.Channel) })
	for key, l := range p.routing.listeners {
		p.owners[called{l.Mux, nameOf(key, portOf(l))}] = key
	}
	return ""
}

func portOf(l *contract.Listener) string {
	return map[corev1.Protocol]string{"TCP": "tcp", "UDP": "udp"}[l.Protocol]
}

func follow[T any](objects map[types.NamespacedName]T, c *api.Change) {
	if c.After == nil {
		delete(objects, c.Key)
		return
	}
	objects[c.Key] = c.After.(any).(T)
}

// askText has everything on which a listener's claim depends.
func askText(l *contract.Listener) string {
	if l == nil || !l.Asks {
		return ""
	}
	return fmt.Sprint(l.Owner.GetUID(), l.Mux, l.Port, l.Protocol)
}

// exists returns whether a claimant is there, be it a Service or a listener.
func (p *promises) exists(key types.NamespacedName) bool {
	if claimants.IsService(key) {
		return p.sim.world.service(key) != nil
	}
	l := p.routing.listeners[key]
	return l != nil && l.Asks
}

// isFor returns whether a listener asks for a claim.
func isFor(l *contract.Listener, mux types.NamespacedName, claim *plan.Claim) bool {
	return l != nil && l.Asks && l.Mux == mux && l.Port == claim.Public && l.Protocol == claim.Owner.Protocol
}

// knownAsks returns whether a listener, as a process knew it, asks for a claim.
func knownAsks(seen *plan.ObservedChannel, claim *plan.Claim) bool {
	return seen != nil && seen.Ports[0].Port == claim.Public && seen.Ports[0].Protocol == claim.Owner.Protocol
}
