package addresses_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/vrrp"
	"nowake.ai/svc-lb-mux/reconciler/addresses"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
	"nowake.ai/svc-lb-mux/validation"
)

const pools = `
pools:
- {name: p, addresses: [192.0.2.1-192.0.2.4], routerIDs: [7, 8], releaseGrace: 60s}
- {name: q, addresses: [198.51.100.1], announce: none, releaseGrace: 60s}
`

func newLanguage(t interface{ Fatal(...any) }) validation.Language {
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	return language
}

// newController makes a controller. more is a setting of pool p.
func newController(t interface{ Fatal(...any) }, s *server, v *view, more ...string) *addresses.Controller {
	parsed, err := config.Parse([]byte(strings.Replace(pools, "{name: p, ", "{name: p, "+strings.Join(more, ""), 1)))
	if err != nil {
		t.Fatal(err)
	}
	return addresses.New(addresses.Settings{
		Language: s.language, Namespace: "lb", Pools: parsed, RebuildAfter: 15 * time.Second, Writes: 1,
		Now: func() time.Time { return s.now },
	}, v)
}

// history is a history of a cluster with two controllers: one leads, and one may believe that it still does.
type history struct {
	*rapid.T
	s           *server
	views       [2]*view
	controllers [2]*addresses.Controller
	copies      []string // of the claims of pool p
}

func (h *history) restart(i int) {
	h.views[i] = h.s.view()
	h.controllers[i] = newController(h, h.s, h.views[i])
}

// pass makes a pass. It may be killed after some writes, and the other controller may act before one of them.
func (h *history) pass(i int) {
	v := h.views[i]
	v.left, v.before = 1<<30, func() {}
	if rapid.Bool().Draw(h.T, "killed") {
		v.left = rapid.IntRange(0, 4).Draw(h.T, "writes before the kill")
	}
	if at := rapid.IntRange(0, 6).Draw(h.T, "other acts before write"); at > 0 {
		v.before = func() {
			if at--; at == 0 {
				other := h.views[1-i]
				other.left, other.before = 1<<30, func() {}
				_, err := h.controllers[1-i].Pass(h.Context())
				h.expect(err)
			}
		}
	}
	_, err := h.controllers[i].Pass(h.Context())
	h.expect(err)
	if v.isDead() {
		h.restart(i)
	}
}

func (h *history) expect(err error) {
	if err != nil && !errors.Is(err, errKilled) {
		h.Errorf("a pass failed: %v", err)
	}
}

func keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "edge", Name: name}
}

// step is one thing that happens.
func (h *history) step() {
	s := h.s
	name := func() string { return fmt.Sprint("mux-", rapid.IntRange(0, 4).Draw(h.T, "mux")) }
	gateway := func() string { return fmt.Sprint("gw-", rapid.IntRange(0, 2).Draw(h.T, "gateway")) }
	switch what := rapid.SampledFrom([]string{"pass", "pass", "pass", "other pass", "sync", "sync", "mux", "delete",
		"recreate", "agent", "agent", "report",
		"gateway dies", "gateway starts", "deaf restart", "segment", "segment", "storm", "lease deleted", "time", "time",
		"much time", "claims lost", "copy", "restore", "empty", "restart"}).Draw(h.T, "what"); what {
	case "pass":
		h.pass(0)
	case "other pass":
		h.pass(1)
	case "sync":
		i := rapid.IntRange(0, 1).Draw(h.T, "view")
		h.views[i].sync(h.controllers[i].Deleted)
	case "mux":
		s.createMux(name(), "p",
			rapid.SampledFrom([]string{"", "", "192.0.2.1", "192.0.2.2", "203.0.113.1"}).Draw(h.T, "wanted"))
	case "delete":
		s.deleteMux(name())
	case "recreate":
		n := name()
		if svc := s.services[keyOf(n)]; svc != nil {
			wanted := svc.Annotations[s.language.Keys().Address]
			s.deleteMux(n)
			s.createMux(n, "p", "")
			s.createMux(n, "p", wanted)
		}
	case "agent":
		n := gateway()
		s.program(n)
		s.report(n)
	case "report":
		s.report(gateway())
	case "gateway dies":
		if a := s.agents[gateway()]; a != nil {
			a.alive, a.routers = false, map[uint8]vrrp.Router{}
		}
	case "deaf restart":
		s.deafen(gateway())
	case "segment":
		s.segment(time.Duration(rapid.IntRange(1, 20).Draw(h.T, "segment"))*50*time.Millisecond, nil)
	case "storm":
		for _, a := range s.agents {
			a.cut = rapid.Bool().Draw(h.T, "cut")
		}
		lost := rapid.IntRange(0, 95).Draw(h.T, "lost percent")
		s.segment(time.Duration(rapid.IntRange(1, 10).Draw(h.T, "storm"))*50*time.Millisecond, func() bool {
			return rapid.IntRange(0, 99).Draw(h.T, "chance") < lost
		})
	case "gateway starts":
		s.start(gateway())
	case "lease deleted":
		delete(s.leases, "svc-lb-mux-gateway-"+gateway())
	case "time":
		s.now = s.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(h.T, "seconds")) * time.Second)
	case "much time":
		s.now = s.now.Add(3 * time.Minute)
	case "claims lost":
		if !s.emptyLists { // one disaster at a time
			delete(s.maps, claims.Name("p"))
			s.forgetHidden()
		}
	case "copy":
		if cm := s.maps[claims.Name("p")]; cm != nil {
			h.copies = append(h.copies, cm.Data[claims.Key])
		}
	case "restore":
		if cm := s.maps[claims.Name("p")]; cm != nil && len(h.copies) > 0 && !s.emptyLists { // one disaster at a time
			cm = cm.DeepCopy()
			cm.Data[claims.Key], cm.ResourceVersion = rapid.SampledFrom(h.copies).Draw(h.T, "copy"), s.next()
			s.maps[cm.Name], s.restored = cm, true
			s.forgetHidden()
		}
	case "restart":
		h.restart(0)
	case "empty":
		s.emptyLists = !s.emptyLists && s.claims("p") != nil
	}
	h.verify()
}

func (h *history) verify() {
	if len(h.s.broken) > 0 {
		h.Fatalf("broken promises:\n%s", strings.Join(h.s.broken, "\n"))
	}
}

// calm lets everything settle: agents, caches and passes, until a pass writes nothing.
func (h *history) calm() {
	s := h.s
	s.emptyLists = false
	for i := range h.views {
		h.restart(i)
	}
	calmSince := s.now
	for range 90 {
		s.now = s.now.Add(20 * time.Second)
		for name := range s.agents {
			s.agents[name].alive = true
			s.program(name)
			s.report(name)
		}
		s.settle()
		h.views[0].sync(h.controllers[0].Deleted)
		before := s.writes
		_, err := h.controllers[0].Pass(h.Context())
		h.expect(err)
		h.verify()
		s.restored = false
		if s.writes == before && s.now.Sub(calmSince) > 22*time.Minute {
			return
		}
	}
	h.Error("passes go on writing, although nothing changes")
}

func TestPromisesHoldAfterEveryWrite(t *testing.T) {
	language := newLanguage(t)
	rapid.Check(t, func(t *rapid.T) {
		h := &history{T: t, s: newServer(language)}
		for i := range h.views {
			h.restart(i)
		}
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			h.step()
		}
		h.calm()
		h.checkCalm()
	})
}

// checkCalm checks what holds once nothing happens any more: each mux that can have an address shows the one that is
// claimed.
func (h *history) checkCalm() {
	c := h.s.claims("p")
	if c == nil {
		h.Fatal("there are no claims")
	}
	for key, svc := range h.s.services {
		shown := claims.Shown(svc)
		m, found := c.Find(key)
		switch {
		case len(h.s.agents) == 0 || !found:
		case len(shown) != 1 || shown[0] != m.Addresses[0]:
			h.Errorf("mux %s shows %v, and %v is claimed: %+v", key, shown, m.Addresses, svc.Status.Conditions)
		}
	}
	h.s.checkSeats(c)
	h.verify()
	for i := range c.Muxes {
		if h.s.services[c.Muxes[i].Key] == nil && c.Muxes[i].IsHeld() {
			h.Errorf("mux %s is gone for long, and still claims %v", c.Muxes[i].Key, c.Muxes[i].Addresses)
		}
	}
}
