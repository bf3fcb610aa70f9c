package sim

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/sim/api"
	"nowake.ai/svc-lb-mux/test/sim/contract"
)

// status checks our write of an object of the Gateway API: it changes the status alone. A listener is programmed only
// if the process knows its port on the mux.
func (p *promises) status(c *api.Change, process *process) string {
	if c.Before == nil || c.After == nil || !statusAlone(c) {
		return fmt.Sprintf("not ours, not touched: %s %s is written beside its status", c.Kind, c.Key)
	}
	if !equality.Semantic.DeepEqual(p.foreignParents(c.Before), p.foreignParents(c.After)) {
		return fmt.Sprintf("not ours, not touched: what others say of %s %s is written", c.Kind, c.Key)
	}
	for _, key := range sortedKeys(p.routing.listeners) {
		l := p.routing.listeners[key]
		isOf := c.Kind == api.Gateways || c.Kind == api.ListenerSets
		if isOf && l.Owner == c.After && l.Refused() {
			p.sim.point("listener: refused")
		}
		if !isOf || l.Owner != c.After || !l.Programmed() || process == nil || p.doubted[l.Mux] {
			continue
		}
		slot := plan.Slot{Number: l.Port, Protocol: l.Protocol}
		if claim, held := p.held[l.Mux][slot]; held && claim.Owner.Channel == key &&
			slotsOf(p.sim.world.service(l.Mux))[slot] == claim.MuxName {
			p.told[place{l.Mux, slot, claim.MuxName}] = claim.Owner
		}
		if before := (contract.Listener{Owner: c.Before, ListenerEntry: l.ListenerEntry}); before.Programmed() {
			continue // a process that hasn't decided leaves what the status says
		}
		isGone := p.sim.world.service(l.Mux) == nil // deleted a moment ago, and the pass that reacts may still wait
		if !isGone && !p.knowsPort(l, process) {
			return fmt.Sprintf("addresses: listener %s is programmed with %d/%s, which isn't on mux %s", key, l.Port, l.Protocol,
				l.Mux)
		}
		p.sim.point("listener: programmed")
	}
	return ""
}

// knowsPort returns whether any state of the mux that the process knows has the listener's port.
func (p *promises) knowsPort(l *contract.Listener, process *process) bool {
	wrote, _ := process.wrote[string(api.Services)+" "+l.Mux.String()].(*corev1.Service)
	for _, svc := range [...]*corev1.Service{process.knows(l.Mux), process.began[l.Mux][l.Mux], wrote,
		process.learnt[l.Mux]} {
		name := slotsOf(svc)[plan.Slot{Number: l.Port, Protocol: l.Protocol}]
		if name != "" && (p.owners[called{l.Mux, name}] == l.Key || p.holds(l.Mux, l.Key, name)) {
			return true
		}
	}
	return false
}

// statusAlone returns whether only status and resource version differ.
func statusAlone(c *api.Change) bool {
	plain := func(obj any) any {
		switch o := obj.(type) {
		case *gatewayv1.GatewayClass:
			return [2]any{o.Spec, bare(o.ObjectMeta)}
		case *gatewayv1.Gateway:
			return [2]any{o.Spec, bare(o.ObjectMeta)}
		case *gatewayv1.ListenerSet:
			return [2]any{o.Spec, bare(o.ObjectMeta)}
		case *gatewayv1.TCPRoute:
			return [2]any{o.Spec, bare(o.ObjectMeta)}
		case *gatewayv1.UDPRoute:
			return [2]any{o.Spec, bare(o.ObjectMeta)}
		}
		return nil
	}
	before := plain(c.Before)
	return before != nil && equality.Semantic.DeepEqual(before, plain(c.After))
}

func bare(meta metav1.ObjectMeta) metav1.ObjectMeta {
	meta.ResourceVersion = ""
	return meta
}

// foreignParents returns the entries of other controllers in a route's status.
func (p *promises) foreignParents(route client.Object) (all []gatewayv1.RouteParentStatus) {
	switch o := route.(type) {
	case *gatewayv1.TCPRoute:
		all = o.Status.Parents
	case *gatewayv1.UDPRoute:
		all = o.Status.Parents
	}
	return slices.DeleteFunc(slices.Clone(all), func(s gatewayv1.RouteParentStatus) bool {
		return string(s.ControllerName) == p.sim.language.Prefix()+"/gateway"
	})
}

// muxService checks what the part for Gateways writes of Services: it creates muxes of Gateways, corrects their labels
// and annotations, and deletes the mux of a Gateway that is another controller's.
func (p *promises) muxService(c *api.Change, process *process) string {
	before, _ := c.Before.(*corev1.Service)
	after, _ := c.After.(*corev1.Service)
	defer p.othersOnMux(c.Key, before, after) // the other promises see the write as the owner's
	switch is := p.gatewayOf(c.Object().(*corev1.Service)); {
	case is == nil:
		return fmt.Sprintf("not ours, not touched: Service %s is no Gateway's mux, and is written", c.Key)
	case before == nil:
		return ""
	case after == nil && !process.foreign(is):
		return fmt.Sprintf("not ours, not touched: Service %s is deleted, though its Gateway is ours", c.Key)
	case after == nil:
		return ""
	case !equality.Semantic.DeepEqual(before.Spec, after.Spec) ||
		!equality.Semantic.DeepEqual(before.Status, after.Status):
		return fmt.Sprintf("not ours, not touched: spec or status of Service %s is written", c.Key)
	}
	keys := p.sim.language.Keys()
	rest := func(svc *corev1.Service) map[string]string {
		annotations := maps.Clone(svc.Annotations)
		// the last one is in the template
		for _, ours := range [...]string{keys.Multiplexer, keys.AllowedNamespaces, keys.PortRange} {
			delete(annotations, ours)
		}
		return annotations
	}
	if !equality.Semantic.DeepEqual(rest(before), rest(after)) {
		return fmt.Sprintf("not ours, not touched: annotations of Service %s", c.Key)
	}
	return ""
}

// gatewayOf returns the name of the Gateway that a Service is made for; nil if it isn't made for one.
func (p *promises) gatewayOf(svc *corev1.Service) *types.NamespacedName {
	owner := metav1.GetControllerOf(svc)
	if owner == nil || owner.Kind != "Gateway" || svc.Labels[p.sim.language.Keys().Managed] != "true" ||
		muxOf(owner.Name).Name != svc.Name {
		return nil
	}
	return &types.NamespacedName{Namespace: svc.Namespace, Name: owner.Name}
}

// foreign returns whether a Gateway had another controller's class when the last pass over it began.
func (p *process) foreign(key *types.NamespacedName) bool {
	if p == nil {
		return true
	}
	gateway := p.served.seen[*key]
	return gateway != nil && gateway.Spec.GatewayClassName == foreignClass
}
