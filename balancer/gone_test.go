package balancer

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/flows"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// dns is tables with the UDP port 53, whose backends are at these ports of one pod.
func dns(ports ...uint16) *want.Tables {
	s := want.Service{Address: netip.MustParseAddr("192.0.2.1"), Protocol: corev1.ProtocolUDP, First: 53, Last: 53}
	for _, port := range ports {
		s.Slots = append(s.Slots, want.Backend{Address: netip.MustParseAddr("10.1.0.1"), Port: port})
	}
	return &want.Tables{Services: []want.Service{s}}
}

func TestFlowsToGoneBackendsAreEndedOnceThatSucceeds(t *testing.T) {
	var asked []uint16
	var fails error
	a := New(Config{DropFlows: func(gone []flows.Gone) (int, error) {
		for _, g := range gone {
			asked = append(asked, g.Port)
		}
		return 0, fails
	}})
	a.applied = dns(53)
	for _, step := range []struct {
		name    string
		applied *want.Tables
		fails   error
		want    []uint16
	}{
		{"the backends stay", dns(53), nil, nil},
		{"another target port, and flows can't be listed", dns(5353), errors.New("no buffer"), []uint16{53}},
		{"another one, and again", dns(5354), errors.New("no buffer"), []uint16{5353, 53}},
		{"the first one is back", dns(53), nil, []uint16{5354, 5353}},
		{"nothing is left", dns(53), nil, nil},
	} {
		asked, fails = nil, step.fails
		had := a.applied
		a.applied = step.applied
		a.dropFlows(had)
		if diff := cmp.Diff(step.want, asked); diff != "" {
			t.Errorf("%s: ports (-want +got):\n%s", step.name, diff)
		}
	}
}
