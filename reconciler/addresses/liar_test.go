package addresses_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses"
)

// liar is the name of the stolen machine. A thief of a machine writes what they like into its Lease, and into no other
// one.
const liar = "gw-1"

// lies are what a thief may write into the annotations of the Lease. Each changes one part of the truth.
func (s *server) lies() map[string]func(l *coordinationv1.Lease) {
	keys := s.language.Keys()
	facts := func(text string) func(*coordinationv1.Lease) {
		return func(l *coordinationv1.Lease) { l.Annotations[keys.GatewayFacts] = text }
	}
	report := func(text string) func(*coordinationv1.Lease) {
		return func(l *coordinationv1.Lease) { l.Annotations[keys.GatewayReport] = text }
	}
	quoted := func(list []string) string { return `"` + strings.Join(list, `","`) + `"` }
	// Backends, free and taken addresses of the pool, and other gateways.
	victims := strings.Fields("10.1.0.1 10.1.0.2 192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 10.0.0.48 10.0.0.50")
	return map[string]func(*coordinationv1.Lease){
		"a backend fails, said often": report(`{"probes":{"settled":true,"failing":[` +
			quoted(slices.Repeat([]string{"10.1.0.1:8080"}, 500)) + `]}}`),
		"the largest capacity":      facts(`{"capacity":1000000,"addresses":["10.0.0.49"]}`),
		"facts that can't be read":  facts(`{`),
		"facts that are too long":   facts(strings.Repeat(" ", 17<<10) + `{}`),
		"a report that can't be":    report(`{"holds":[0]}`),
		"addresses of other things": facts(`{"capacity":1,"addresses":[` + quoted(victims) + `]}`),
		"another zone":              facts(`{"capacity":1,"zone":"elsewhere","addresses":["10.0.0.49"]}`),
		"holds each seat": func(l *coordinationv1.Lease) {
			l.Annotations[keys.GatewayReport] = `{"holds":[7,8],"muxes":[` +
				s.everyMux(`"refused":[{"reason":"Refused","message":"no"}]`) + `]}`
		},
		"carries every address": func(l *coordinationv1.Lease) {
			l.Annotations[keys.GatewayReport] = `{"muxes":[` +
				s.everyMux(`"programmed":["192.0.2.1","192.0.2.2","192.0.2.3","192.0.2.4"]`) + `]}`
		},
		"a Lease of a day": func(l *coordinationv1.Lease) {
			seconds := int32(1 << 30)
			l.Spec.LeaseDurationSeconds = &seconds
			l.Spec.RenewTime.Time = s.now.Add(24 * time.Hour)
		},
		"labels": func(l *coordinationv1.Lease) { l.Labels["zone"] = "x" },
	}
}

// everyMux lists all muxes as a report does, each with the same field.
func (s *server) everyMux(field string) string {
	var texts []string
	for _, svc := range s.services {
		texts = append(texts, fmt.Sprintf(`{"uid":%q,%s}`, svc.UID, field))
	}
	slices.Sort(texts)
	return strings.Join(texts, ",")
}

// others are what lies must not change: the places of other gateways, and what they carry; and the addresses of muxes.
type others struct {
	// First has the gateways that hold seats, and Order has the other gateways' places among each other.
	First  map[uint8]string
	Order  map[uint8][]string
	Tables map[string]any
	Claims map[types.NamespacedName][]netip.Addr
	Shown  map[types.NamespacedName][]netip.Addr
	Down   []netip.AddrPort
}

func (s *server) others() others {
	o := others{First: map[uint8]string{}, Order: map[uint8][]string{}, Tables: map[string]any{},
		Claims: map[types.NamespacedName][]netip.Addr{}, Shown: map[types.NamespacedName][]netip.Addr{}}
	c := s.claims("p")
	for _, seat := range c.Seats {
		o.First[seat.RouterID] = seat.Order[0]
		if !s.zones { // of the gateways that stand by, one in another zone comes first
			o.Order[seat.RouterID] = slices.DeleteFunc(slices.Clone(seat.Order), func(name string) bool { return name == liar })
		}
	}
	for i := range c.Muxes {
		o.Claims[c.Muxes[i].Key] = c.Muxes[i].Addresses
	}
	for name, a := range s.agents {
		if name != liar {
			o.Tables[name] = a.before.Tables
		}
	}
	for key, svc := range s.services {
		o.Shown[key] = claims.Shown(svc)
	}
	o.Down = c.Down
	return o
}

// TestLiesOfOneMachineChangeNothingForOthers: all machines work, and one of them is stolen. Whatever its Lease says,
// the other machines keep their tables and their places, and muxes keep their addresses. A new mux gets an address, and
// a new machine its place.
func TestLiesOfOneMachineChangeNothingForOthers(t *testing.T) {
	language := newLanguage(t)
	for _, name := range slices.Sorted(maps.Keys(newServer(language).lies())) {
		for _, machines := range []int{2, 3, 4} {
			for _, probes := range []bool{false, true} {
				for _, zones := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, %d machines, probes %t, zones %t", name, machines, probes, zones), func(t *testing.T) {
						s := newServer(language)
						s.probes, s.zones = probes, zones
						s.testLie(t, name, machines)
					})
				}
			}
		}
	}
}

func (s *server) testLie(t *testing.T, name string, machines int) {
	for i := range machines {
		s.start(fmt.Sprint("gw-", i))
	}
	s.createMux("mux-0", "p", "")
	s.createMux("mux-1", "p", "192.0.2.3")
	v := s.view()
	c := newController(t, s, v, map[bool]string{true: "probeBackends: 2s, "}[s.probes])
	s.live(t, v, c, nil)
	before := s.others()
	s.live(t, v, c, s.lies()[name])
	ways := cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}, netip.Prefix{}), cmpopts.EquateEmpty()}
	if diff := cmp.Diff(before, s.others(), ways); diff != "" {
		t.Fatalf("(-before +after):\n%s", diff)
	}
	s.createMux("new", "p", "")
	s.start(fmt.Sprint("gw-", machines))
	s.live(t, v, c, s.lies()[name])
	if len(claims.Shown(s.services[keyOf("new")])) == 0 {
		t.Errorf("a new mux has no address: %+v", s.services[keyOf("new")].Status.Conditions)
	}
	for _, seat := range s.claims("p").Seats {
		if !slices.Contains(seat.Order, fmt.Sprint("gw-", machines)) {
			t.Errorf("a new machine has no place in %v", seat)
		}
	}
}

// live lets all agents read and report, and makes passes until nothing changes. lie changes the stolen machine's Lease.
func (s *server) live(t *testing.T, v *view, c *addresses.Controller, lie func(*coordinationv1.Lease)) {
	for range 4 {
		s.now = s.now.Add(5 * time.Second)
		for _, name := range slices.Sorted(maps.Keys(s.agents)) {
			s.program(name)
			s.report(name)
		}
		if lie != nil {
			lie(s.leases[lease.Name(liar)])
		}
		v.sync(c.Deleted)
		if _, err := c.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.broken) > 0 {
		t.Fatal(s.broken)
	}
}

// TestWordOfOneMachineIsEnoughToShowAnAddress: docs/security.md names this among the things that a stolen machine can
// do. A mux with the annotation gateways: "2" needs the word of a second machine.
func TestWordOfOneMachineIsEnoughToShowAnAddress(t *testing.T) {
	s := newServer(newLanguage(t))
	s.start("gw-0")
	s.start(liar)
	v := s.view()
	c := newController(t, s, v)
	s.live(t, v, c, nil)
	s.createMux("new", "p", "")
	s.createMux("careful", "p", "")
	s.services[keyOf("careful")].Annotations[s.language.Keys().Gateways] = "2"
	s.agents["gw-0"].alive = false // it reads nothing any more
	for range 3 {
		s.now = s.now.Add(5 * time.Second)
		s.report(liar)
		s.leases[lease.Name(liar)].Annotations[s.language.Keys().GatewayReport] =
			`{"muxes":[` + s.everyMux(`"programmed":["192.0.2.1","192.0.2.2"]`) + `]}`
		v.sync(c.Deleted)
		if _, err := c.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if shown := claims.Shown(s.services[keyOf("new")]); len(shown) != 1 {
		t.Errorf("the lie shows %v: docs/security.md says that it can", shown)
	}
	if shown := claims.Shown(s.services[keyOf("careful")]); len(shown) != 0 {
		t.Errorf("a mux that wants two gateways shows %v by the word of one", shown)
	}
}
