package addresses_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/vrrp"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// agent is a gateway: the real decision, and the real virtual routers, without a kernel.
type agent struct {
	name  string
	alive bool
	// claims are those that it read last, nil after a start. Before is its last decision, which a restart finds on the
	// disk.
	claims *claims.Claims
	before *want.Wanted
	// table is what the kernel translates. It outlives the agent.
	table   map[netip.Addr]types.UID
	routers map[uint8]vrrp.Router
	// cut says on which side of a partition the gateway is: adverts reach only gateways on the same side.
	cut bool
}

// own is a gateway's own address.
func (a *agent) own() netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, a.name[len(a.name)-1]}) }

// holds returns the seats for whose addresses the gateway answers. A seat without other gateways needs no adverts.
func (a *agent) holds() []uint8 {
	var held []uint8
	if a.before == nil || !a.alive {
		return nil
	}
	for i := range a.before.Seats {
		s := &a.before.Seats[i]
		if a.routers[s.RouterID].State == vrrp.Active || s.Others == 0 {
			held = append(held, s.RouterID)
		}
	}
	return held
}

// decide makes the agent decide, and brings its kernel and its routers up to date. Missing news changes nothing.
func (s *server) decide(a *agent, news *want.World) {
	had := a.before != nil && len(a.before.Tables.Services) > 0
	news.Keys, news.Before, news.Claims = s.language.Keys(), a.before, a.claims
	news.Settings = want.Settings{Gateway: a.name, ReturnPath: want.ViaNode, Source: []netip.Addr{a.own()},
		Own: []netip.Addr{a.own()}}
	d := want.Decide(news)
	if d.Wanted == nil {
		return
	}
	if len(d.Unread) > 0 && a.before != nil && len(d.Wanted.Tables.Services) != len(a.before.Tables.Services) {
		s.breaks("gateway %s lacks %v, and changes its tables", a.name, d.Unread)
	}
	a.before = d.Wanted
	a.table = map[netip.Addr]types.UID{}
	for i := range d.Wanted.Tables.Addresses {
		address := &d.Wanted.Tables.Addresses[i]
		for key, svc := range s.services {
			if key == address.Mux {
				a.table[address.Address] = svc.UID
			}
		}
	}
	isClaimed := func(m claims.Mux) bool { return m.IsHeld() && s.services[m.Key] != nil }
	if had && len(d.Wanted.Tables.Services) == 0 && (a.claims == nil || slices.ContainsFunc(a.claims.Muxes, isClaimed)) {
		s.breaks("gateway %s emptied its tables, although it knows of no mux that is gone", a.name)
	}
	keep := map[uint8]bool{}
	for i := range d.Wanted.Seats {
		seat := &d.Wanted.Seats[i]
		keep[seat.RouterID] = true
		r := a.routers[seat.RouterID]
		r.Priority, r.Source = seat.Priority, a.own()
		r = r.Adopt(s.now, claims.DefaultInterval, claims.DefaultInterval)
		a.routers[seat.RouterID] = r.Start(s.now)
	}
	for id, r := range a.routers {
		if !keep[id] {
			_, actions := r.Stop()
			delete(a.routers, id)
			s.deliver(a, id, r.Priority, actions, nil)
		}
	}
}

// program has a gateway read all news.
func (s *server) program(name string) {
	a := s.agents[name]
	if a == nil || !a.alive {
		return
	}
	if c := s.claims("p"); c != nil {
		a.claims = c
	}
	s.decide(a, &want.World{Muxes: want.List[*corev1.Service]{Items: s.listServices(), IsRead: true},
		Slices: want.List[*want.Slice]{Items: s.listSlices(), IsRead: true}})
}

// deafen has a gateway restart while no API server answers.
func (s *server) deafen(name string) {
	a := s.agents[name]
	if a == nil || !a.alive {
		return
	}
	a.claims, a.routers = nil, map[uint8]vrrp.Router{}
	s.decide(a, &want.World{})
}

// listSlices has one slice with two backends for each mux.
func (s *server) listSlices() []*want.Slice {
	var list []*want.Slice
	for _, svc := range s.listServices() {
		slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
			ObjectMeta: metav1.ObjectMeta{Namespace: svc.Namespace, Name: svc.Name,
				Labels:          map[string]string{discoveryv1.LabelServiceName: svc.Name},
				Annotations:     map[string]string{s.language.Keys().Managed: "true", s.language.Keys().SourceRanges: ""},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: svc.Name, UID: svc.UID}}}}
		name, protocol, port := "http", corev1.ProtocolTCP, int32(8080)
		slice.Ports = []discoveryv1.EndpointPort{{Name: &name, Protocol: &protocol, Port: &port}}
		slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}}, {Addresses: []string{"10.1.0.2"}}}
		list = append(list, want.ReadSlice(slice))
	}
	return list
}

// deliver brings an advert of a seat to all other gateways on the same side of the segment.
func (s *server) deliver(from *agent, id, priority uint8, actions []vrrp.Action, isLost func() bool) {
	if !slices.Contains(actions, vrrp.Advertise) && !slices.Contains(actions, vrrp.Resign) {
		return
	}
	advert := vrrp.Advert{RouterID: id, Priority: priority, Interval: 100 * time.Millisecond}
	if slices.Contains(actions, vrrp.Resign) {
		advert.Priority = 0
	}
	for _, name := range slices.Sorted(maps.Keys(s.agents)) {
		a := s.agents[name]
		r, known := a.routers[id]
		if a == from || !a.alive || !known || a.cut != from.cut || isLost != nil && isLost() {
			continue
		}
		r, answers := r.Receive(s.now, &advert, from.own())
		a.routers[id] = r
		s.deliver(a, id, r.Priority, answers, isLost)
	}
}

// segment lets the routers run.
func (s *server) segment(duration time.Duration, isLost func() bool) {
	for end := s.now.Add(duration); s.now.Before(end); s.now = s.now.Add(10 * time.Millisecond) {
		for _, name := range slices.Sorted(maps.Keys(s.agents)) {
			a := s.agents[name]
			if !a.alive {
				continue
			}
			for _, id := range slices.Sorted(maps.Keys(a.routers)) {
				r, actions := a.routers[id].Tick(s.now)
				a.routers[id] = r
				s.deliver(a, id, r.Priority, actions, isLost)
			}
		}
	}
}

// settle heals the segment, and lets a quiet second pass.
func (s *server) settle() {
	for _, a := range s.agents {
		a.cut = false
	}
	s.segment(time.Second, nil)
}

// checkSeats checks what holds in a quiet segment whose gateways all know the claims: one holder for each seat with a
// mux, the first of its order, and it translates all addresses of the seat.
func (s *server) checkSeats(c *claims.Claims) {
	for range 60 {
		s.segment(10*time.Millisecond, nil)
		s.checkHolders(c)
	}
}

func (s *server) checkHolders(c *claims.Claims) {
	holders := map[uint8][]string{}
	for _, name := range slices.Sorted(maps.Keys(s.agents)) {
		for _, id := range s.agents[name].holds() {
			holders[id] = append(holders[id], name)
		}
	}
	for _, seat := range c.Seats {
		if len(seat.Order) == 0 {
			continue
		}
		if got := holders[seat.RouterID]; len(got) != 1 || got[0] != seat.Order[0] {
			s.breaks("seat %d is held by [%s], and its order is %v", seat.RouterID, strings.Join(got, " "), seat.Order)
			continue
		}
		for i := range c.Muxes {
			m := &c.Muxes[i]
			for _, address := range m.Addresses {
				if svc := s.services[m.Key]; m.IsHeld() && m.Seat == seat.RouterID && svc != nil &&
					s.agents[seat.Order[0]].table[address] != svc.UID {
					s.breaks("seat %d: gateway %s doesn't translate %s of mux %s", seat.RouterID, seat.Order[0], address, m.Key)
				}
			}
		}
	}
}

func newAgent(name string) *agent {
	return &agent{name: name, table: map[netip.Addr]types.UID{}, routers: map[uint8]vrrp.Router{}}
}

// String is for messages.
func (a *agent) String() string { return fmt.Sprintf("%s (alive %t)", a.name, a.alive) }
