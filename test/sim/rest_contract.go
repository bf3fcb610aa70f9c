package sim

import (
	"fmt"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/sim/api"
	"nowake.ai/svc-lb-mux/test/sim/contract"
)

// atRest compares the cluster with the contract. Then it lets a new process lead, which must write nothing.
func (s *Sim) atRest() string {
	if wrong := s.observed().AtRest(); wrong != "" {
		return "at rest, " + wrong
	}
	return s.restart()
}

// observed returns the cluster's present objects.
func (s *Sim) observed() *contract.World {
	return &contract.World{
		Routing:  s.routing(),
		Language: s.language, Now: s.processes[0].now(), Unexplained: s.unexplained,
		Services: objects[*corev1.Service](s, api.Services), ConfigMaps: objects[*corev1.ConfigMap](s, api.ConfigMaps),
		Slices: objects[*discoveryv1.EndpointSlice](s, api.EndpointSlices),
	}
}

func (s *Sim) routing() contract.Routing {
	return contract.Routing{
		Prefix: s.language.Prefix(), Classes: objects[*gatewayv1.GatewayClass](s, api.GatewayClasses),
		Gateways: objects[*gatewayv1.Gateway](s, api.Gateways), Sets: objects[*gatewayv1.ListenerSet](s, api.ListenerSets),
		TCPRoutes: objects[*gatewayv1.TCPRoute](s, api.TCPRoutes), UDPRoutes: objects[*gatewayv1.UDPRoute](s, api.UDPRoutes),
		Grants: objects[*gatewayv1.ReferenceGrant](s, api.ReferenceGrants),
	}
}

// objects returns copies of all objects of a kind.
func objects[T interface {
	comparable
	DeepCopy() T
}](s *Sim, kind api.Kind) map[types.NamespacedName]T {
	all := map[types.NamespacedName]T{}
	for _, key := range s.server.Keys(kind) {
		all[key] = any(s.server.Peek(kind, key)).(T).DeepCopy()
	}
	return all
}

// unexplained returns whether a port has no claim because others destroyed the ledger or changed the mux.
func (s *Sim) unexplained(mux types.NamespacedName, port *corev1.ServicePort) bool {
	return s.promises.nobodys(place{mux, plan.Slot{Number: port.Port, Protocol: port.Protocol}, port.Name})
}

// watched is the time for which a new leader is watched.
const watched = 5 * time.Minute

// restart lets a new process decide about everything. At rest it must write nothing.
func (s *Sim) restart() string {
	skew := s.processes[0].skew
	s.killAll()
	p := s.newProcess(0)
	p.skew = skew
	p.lead()
	synctest.Wait()
	for began := time.Now(); ; {
		if choices := s.forward(); len(choices) > 0 {
			s.happen(-1, choices[0].do)
		} else if next := s.nextDue(); !next.IsZero() && next.Sub(began) < watched {
			time.Sleep(time.Until(next))
		} else {
			return ""
		}
		for _, change := range s.server.Changes(s.checked) {
			if change.By != "" && (change.After != nil || !s.isStripped(change.Before)) {
				return "at rest, quiet: a new leader writes " + s.describe(&change)
			}
		}
		if broken := s.check(); broken != "" {
			return broken
		}
	}
}

// isStripped returns whether a slice of ours has lost the label that names its mux: the process that led before can't
// have known whose slice it is.
func (s *Sim) isStripped(object client.Object) bool {
	slice, is := object.(*discoveryv1.EndpointSlice)
	return is && slice.Annotations[s.language.Keys().Managed] == "true" && slice.Labels[discoveryv1.LabelServiceName] == ""
}

// freezes returns true for one history in four.
func (s *Sim) freezes() bool { return s.Seed%4 == 1 }

// freeze pauses every mux, while users, pods and the provider act. Numbers must stay, and addresses and backends must
// follow.
func (s *Sim) freeze() string {
	s.draw(-3)
	for _, key := range s.muxes() {
		if svc := s.world.service(key); svc != nil {
			annotate(svc, s.language.Keys().Disabled, "true")
			s.happen(-1, func() string { return fmt.Sprintf("mux %s is paused%s", key, s.world.put(svc, false)) })
		}
	}
	if broken := s.calm(); broken != "" {
		return broken
	}
	before := s.observed()
	for range 12 {
		deeds := []func() string{s.world.people, s.world.backends, s.world.backends, s.world.provider}
		if s.hasGateways() {
			deeds = append(deeds, s.world.gatewayDeed, s.world.gatewayDeed)
		}
		s.happen(-1, pick(s, deeds...))
		for n := s.rng.IntN(20); ; n-- {
			// at once, because a later step changes what we know of the process at its write
			if broken := s.check(); broken != "" {
				return broken
			}
			if n == 0 {
				break
			}
			if choices := s.forward(); len(choices) > 0 {
				s.happen(-1, choices[s.rng.IntN(len(choices))].do)
			}
		}
	}
	if s.hasGateways() {
		s.happen(-1, func() string { s.world.mendGateways(); return "GatewayClasses are mended" })
	}
	if broken := s.calm(); broken != "" {
		return broken
	}
	if wrong := s.observed().Frozen(before); wrong != "" {
		return "at rest, " + wrong
	}
	return ""
}
