package sim

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// sources are a channel's own slices.
func (s *Sim) sources(channel types.NamespacedName) []*discoveryv1.EndpointSlice {
	var list []*discoveryv1.EndpointSlice
	for _, key := range s.server.Keys(api.EndpointSlices) {
		slice := s.server.Peek(api.EndpointSlices, key).(*discoveryv1.EndpointSlice)
		if key.Namespace == channel.Namespace && slice.Labels[discoveryv1.LabelServiceName] == channel.Name && !plan.IsOurSlice(s.language.Keys(), slice) {
			list = append(list, slice)
		}
	}
	return list
}

// carried are the slices of a channel that a mux owns.
func (s *Sim) carried(mux, channel types.NamespacedName) []*discoveryv1.EndpointSlice {
	var list []*discoveryv1.EndpointSlice
	for _, key := range s.server.Keys(api.EndpointSlices) {
		slice := s.server.Peek(api.EndpointSlices, key).(*discoveryv1.EndpointSlice)
		of, told := plan.ChannelOfSlice(s.language.Keys(), slice)
		if told && of == channel && key.Namespace == mux.Namespace && slices.Contains(plan.OwnersOfSlice(slice), s.world.service(mux).UID) {
			list = append(list, slice)
		}
	}
	return list
}

// carried is a slice that a mux should have: the endpoints of its source, and the source's numbers, by the ports' names on the mux.
type carried struct {
	*discoveryv1.EndpointSlice
	ports map[string]int32
}

// wanted are the slices that muxes should have.
func (s *Sim) wanted() map[types.NamespacedName]carried {
	wanted := map[types.NamespacedName]carried{}
	for _, key := range muxes() {
		svc := s.world.service(key)
		if !s.isMux(svc) || svc.DeletionTimestamp != nil {
			continue
		}
		live := slotsOf(svc)
		claims := s.inForce(key)
		for i := range claims {
			claim := &claims[i]
			if live[claim.Slot()] != claim.MuxName {
				continue
			}
			for _, source := range s.sources(claim.Owner.Channel) {
				for _, port := range source.Ports {
					if *port.Name != claim.Owner.Name || *port.Protocol != claim.Owner.Protocol {
						continue
					}
					name := types.NamespacedName{Namespace: key.Namespace, Name: plan.SliceName(key, claim.Owner.Channel, source.Name, source.AddressType)}
					if wanted[name].ports == nil {
						wanted[name] = carried{source, map[string]int32{}}
					}
					wanted[name].ports[claim.MuxName] = *port.Port
				}
			}
		}
	}
	return wanted
}

// keptPorts are the ports of our slice whose claim and source have different names, since the channel's port was renamed
// in one of them only. No source has the claim's name then, and a source has the number under a name that no claim has.
func (s *Sim) keptPorts(channel types.NamespacedName, slice *discoveryv1.EndpointSlice) carried {
	kept := carried{ports: map[string]int32{}}
	mux := plan.MuxOfSlice(s.language.Keys(), slice)
	claimed := map[string]bool{}
	var claims []plan.Claim
	for _, claim := range s.inForce(mux) {
		if claim.Owner.Channel == channel {
			claims, claimed[claim.Owner.Name+"/"+string(claim.Owner.Protocol)] = append(claims, claim), true
		}
	}
	listed := map[string]bool{}
	for _, source := range s.sources(channel) {
		for _, port := range source.Ports {
			listed[*port.Name+"/"+string(*port.Protocol)] = true
		}
	}
	for _, source := range s.sources(channel) {
		if slice.Name != plan.SliceName(mux, channel, source.Name, source.AddressType) {
			continue
		}
		for _, port := range source.Ports {
			for i := range claims {
				claim := &claims[i]
				if claimed[*port.Name+"/"+string(*port.Protocol)] || *port.Protocol != claim.Owner.Protocol ||
					listed[claim.Owner.Name+"/"+string(claim.Owner.Protocol)] || !hasPort(slice, claim.MuxName, *port.Port) {
					continue
				}
				kept.EndpointSlice, kept.ports[claim.MuxName] = source, *port.Port
			}
		}
	}
	return kept
}

func hasPort(slice *discoveryv1.EndpointSlice, name string, number int32) bool {
	return slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return *p.Name == name && *p.Port == number })
}

// slicesAtRest: for each source of a channel that has ports on a mux there is one of ours with its endpoints and ports, and no other
// but those that somebody took our labels off: nobody knows whose they are once their channel has gone.
func (s *Sim) slicesAtRest() string {
	wanted := s.wanted()
	for _, key := range s.server.Keys(api.EndpointSlices) {
		slice := s.server.Peek(api.EndpointSlices, key).(*discoveryv1.EndpointSlice)
		if !plan.IsOurSlice(s.language.Keys(), slice) {
			continue
		}
		source, is := wanted[key]
		channel, told := plan.ChannelOfSlice(s.language.Keys(), slice)
		if !told {
			continue
		}
		if kept := s.keptPorts(channel, slice); len(kept.ports) > 0 {
			maps.Copy(kept.ports, source.ports)
			source, is = kept, true
		}
		if len(slice.Ports) > 0 && (!is || !equality.Semantic.DeepEqual(slice.Endpoints, source.Endpoints)) {
			return fmt.Sprintf("at rest, slices beyond: slice %s has endpoints that its channel hasn't", key)
		}
		ports := map[string]int32{}
		for _, port := range slice.Ports {
			ports[*port.Name] = *port.Port
		}
		if is && !maps.Equal(ports, source.ports) {
			return fmt.Sprintf("at rest, slices: slice %s leads to %v, and its channel to %v", key, ports, source.ports)
		}
		delete(wanted, key)
	}
	for _, key := range sortedKeys(wanted) {
		if s.server.Peek(api.EndpointSlices, key) == nil {
			return fmt.Sprintf("at rest, slices missing: %s", key)
		}
	}
	for _, key := range s.server.Keys(api.Services) {
		if p := plan.Backends(s.view(s.world.service(key))); len(p.Steps)+len(p.Refused) > 0 {
			return fmt.Sprintf("at rest, slices of %s: something to do: %v %v", key, p.Steps, p.Refused)
		}
	}
	return ""
}

// view is what there is to decide about a channel's slices, as it is.
func (s *Sim) view(svc *corev1.Service) plan.View {
	keys := s.language.Keys()
	channel := client.ObjectKeyFromObject(svc)
	v := plan.View{Keys: keys, Channel: channel, Ports: svc.Spec.Ports, Sources: s.sources(channel), ClaimsKnown: true}
	if svc.Spec.Type == corev1.ServiceTypeLoadBalancer && s.language.Classify(svc).Channel() {
		v.Mux.Key, v.Attached = s.language.ParseClass(*svc.Spec.LoadBalancerClass)
	}
	if mux := s.world.service(v.Mux.Key); v.Attached && mux != nil {
		v.Mux.UID, v.Mux.IsMux, v.Mux.Deleting, v.Mux.Families = mux.UID, s.isMux(mux), mux.DeletionTimestamp != nil, mux.Spec.IPFamilies
		live := slotsOf(mux)
		claims := s.inForce(v.Mux.Key)
		v.Claims = slices.DeleteFunc(claims, func(c plan.Claim) bool { return c.Owner.Channel != channel || live[c.Slot()] != c.MuxName })
	}
	for _, key := range s.server.Keys(api.EndpointSlices) {
		slice := s.server.Peek(api.EndpointSlices, key).(*discoveryv1.EndpointSlice)
		if of, told := plan.ChannelOfSlice(keys, slice); told && of == channel && plan.IsOurSlice(keys, slice) {
			v.Slices = append(v.Slices, slice)
		}
	}
	return v
}
