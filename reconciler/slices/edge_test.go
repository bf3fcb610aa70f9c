package slices_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
	"nowake.ai/svc-lb-mux/validation"
)

// TestEdge checks that every change of Backing is an edge: the mux line wakes up for edges alone.
func TestEdge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, now := drawSource(t, "web-0"), drawSource(t, "web-0")
		if rapid.Bool().Draw(t, "new") {
			old = nil
		} else if rapid.Bool().Draw(t, "gone") {
			now = nil
		}
		rest, counts := drawSources(t), portsOf(drawClaims(t))
		families := []corev1.IPFamily{"IPv4"}
		before, after := rest, rest
		if old != nil {
			before = append(slices.Clone(rest), old)
		}
		if now != nil {
			after = append(slices.Clone(rest), now)
		}
		if muxslices.BackingOf(before, counts, families) != muxslices.BackingOf(after, counts, families) && !muxslices.Edge(old, now) {
			t.Fatal("backing changes without an edge")
		}
	})
}

func TestAPodAmongOthersIsNoEdge(t *testing.T) {
	yes, no := true, false
	slice := func(ready ...*bool) *discoveryv1.EndpointSlice {
		name, port := "http", int32(80)
		s := &discoveryv1.EndpointSlice{AddressType: "IPv4", Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}}}
		for i, r := range ready {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d", i)},
				Conditions: discoveryv1.EndpointConditions{Ready: r}})
		}
		return s
	}
	for name, test := range map[string]struct {
		old, now *discoveryv1.EndpointSlice
		want     bool
	}{
		"one of two turns unready":      {slice(&yes, &yes), slice(&yes, &no), false},
		"the last turns unready":        {slice(&yes, &no), slice(&no, &no), true},
		"the first turns ready":         {slice(&no), slice(nil), true},
		"a pod comes beside another":    {slice(&yes), slice(&yes, &yes), false},
		"an empty slice appears":        {nil, slice(), false},
		"a slice with a pod appears":    {nil, slice(&yes), true},
		"a slice with a pod disappears": {slice(&yes), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := muxslices.Edge(test.old, test.now); got != test.want {
				t.Errorf("an edge: %t", got)
			}
		})
	}
}

func TestAnEdgeOfAReadySlice(t *testing.T) {
	name, port, other := "http", int32(80), int32(81)
	slice := func() *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{AddressType: "IPv4", Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}}
		s.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", UID: "one"}}
		return s
	}
	for what, test := range map[string]struct {
		change func(*discoveryv1.EndpointSlice)
		want   bool
	}{
		"nothing":       {func(*discoveryv1.EndpointSlice) {}, false},
		"a label":       {func(s *discoveryv1.EndpointSlice) { s.Labels["team"] = "a" }, false},
		"the Service":   {func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "api" }, true},
		"a port":        {func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = &other }, true},
		"no ports":      {func(s *discoveryv1.EndpointSlice) { s.Ports = nil }, true},
		"the family":    {func(s *discoveryv1.EndpointSlice) { s.AddressType = "IPv6" }, true},
		"the mux":       {func(s *discoveryv1.EndpointSlice) { s.OwnerReferences[0].UID = "another" }, true},
		"to host names": {func(s *discoveryv1.EndpointSlice) { s.AddressType = "FQDN" }, true},
	} {
		t.Run(what, func(t *testing.T) {
			now := slice()
			if test.change(now); muxslices.Edge(slice(), now) != test.want {
				t.Errorf("an edge: %t", !test.want)
			}
		})
	}
}

func portsOf(claims []plan.Claim) []validation.ChannelPort {
	ports := make([]validation.ChannelPort, 0, len(claims))
	for _, claim := range claims {
		ports = append(ports, validation.ChannelPort{Name: claim.Owner.Name, Protocol: claim.Owner.Protocol})
	}
	return ports
}
