package balancer_test

import (
	"slices"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/lease"
)

func TestWithoutAnnouncingRoutesBringThePackets(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	config := s.config("a")
	config.Mode = announce.None
	a := start(t, s.a, config)
	a.post(news("a", "b"))
	s.client.Run("ip", "route", "add", "10.9.1.100/32", "via", "10.9.1.1")
	s.client.Run("ip", "-6", "route", "add", "fd09:1::100/128", "via", "fd09:1::1")
	s.awaitAnswers()
	if !isFree(s.a) {
		t.Error("the addresses are on the interface")
	}
	eventually(t, "the seat counts as held", func() bool { return slices.Equal(a.reported().Holds, []uint8{7}) })
}

// Another cluster's gateways must neither take a seat from ours nor get one from them.
func TestAnotherClusterWithTheSameRouterIDIsToldAndIgnored(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	ours, other := s.config("a"), s.config("b")
	other.Group = "lb/another"
	a, b := start(t, s.a, ours), start(t, s.b, other)
	a.post(news("a", "b"))
	b.post(news("a", "b"))
	for name, k := range map[string]*child{"10.9.1.2": a, "10.9.1.1": b} {
		eventually(t, "the fault is reported", func() bool {
			r := k.reported()
			return r != nil && len(r.Holds) == 1 && slices.ContainsFunc(r.Faults, func(f lease.Refusal) bool {
				return f.Reason == announce.ForeignGroup && strings.Contains(f.Message, name)
			})
		})
	}
}

// A lone gateway whose claims are older than a second gateway must not answer beside it.
func TestLoneGatewayGivesWayToOneThatTheClaimsDoNotName(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	a, b := start(t, s.a, s.config("a")), start(t, s.b, s.config("b"))
	b.post(news("b")) // older claims: b alone, with the same highest priority as a
	eventually(t, "gateway b holds the seat", func() bool { return holds(s.b) })
	a.post(news("a"))
	eventually(t, "one gateway alone holds the seat", func() bool {
		return holds(s.a) != holds(s.b) && (isFree(s.a) || isFree(s.b))
	})
	s.awaitAnswers()
	for _, k := range []*child{a, b} {
		k.post(news("a", "b"))
	}
	eventually(t, "gateway a alone holds the seat", func() bool { return holds(s.a) && isFree(s.b) })
}
