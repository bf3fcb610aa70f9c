package project_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

func maybe[T any](t *rapid.T, label string, values ...T) *T {
	if i := rapid.IntRange(-1, len(values)-1).Draw(t, label); i >= 0 {
		return &values[i]
	}
	return nil
}

func drawEndpoint(t *rapid.T, addresses discoveryv1.AddressType) discoveryv1.Endpoint {
	n := rapid.IntRange(1, 9).Draw(t, "address")
	address := fmt.Sprintf("10.0.0.%d", n)
	if addresses == discoveryv1.AddressTypeIPv6 {
		address = fmt.Sprintf("2001:db8::%d", n)
	}
	e := discoveryv1.Endpoint{Addresses: []string{address}, NodeName: maybe(t, "node", "node-1"),
		Zone: maybe(t, "zone", "a"),
		Conditions: discoveryv1.EndpointConditions{Ready: maybe(t, "ready", true, false),
			Serving:     maybe(t, "serving", true, false),
			Terminating: maybe(t, "terminating", true, false)},
		TargetRef: maybe(t, "target", corev1.ObjectReference{Kind: "Pod", Name: "web-0"})}
	if rapid.Bool().Draw(t, "topology") {
		e.DeprecatedTopology = map[string]string{"kubernetes.io/hostname": "node-1"}
	}
	if rapid.Bool().Draw(t, "hints") {
		e.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "a"}}}
	}
	return e
}

func drawSource(t *rapid.T, name string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name, UID: types.UID(name),
			ResourceVersion: strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "version")),
			Labels:          map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: rapid.SampledFrom([]discoveryv1.AddressType{"IPv4", "IPv6", "FQDN"}).Draw(t, "type"),
	}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"", "http", "dns", "other"}),
		rapid.ID).Draw(t, "ports") {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &name,
			Protocol:    maybe(t, "protocol", corev1.ProtocolTCP, corev1.ProtocolUDP),
			Port:        maybe(t, "port", int32(80), int32(8080)),
			AppProtocol: maybe(t, "appProtocol", "h2c")})
	}
	for range rapid.IntRange(0, 4).Draw(t, "endpoints") {
		slice.Endpoints = append(slice.Endpoints, drawEndpoint(t, slice.AddressType))
	}
	return slice
}

func drawSources(t *rapid.T) []*discoveryv1.EndpointSlice {
	var list []*discoveryv1.EndpointSlice
	for i := range rapid.IntRange(0, 4).Draw(t, "sources") {
		list = append(list, drawSource(t, fmt.Sprintf("web-%d", i)))
	}
	return list
}

func drawClaims(t *rapid.T) []plan.Claim {
	var claims []plan.Claim
	for i, port := range []plan.PortID{{Name: "http", Protocol: "TCP"}, {Name: "dns", Protocol: "UDP"},
		{Name: "dns", Protocol: "TCP"}} {
		if rapid.Bool().Draw(t, "claimed") {
			name := rapid.SampledFrom([]string{"1f0c5fd", "2e1d4c0b7f6a59384756", fmt.Sprintf("name-%d", i)}).Draw(t, "muxName")
			claims = append(claims, plan.Claim{Owner: port, MuxName: name, Port: int32(80 + i)})
		}
	}
	return claims
}

// drawPorts returns ports of the channel's Service, some of them renamed.
func drawPorts(t *rapid.T) []corev1.ServicePort {
	var ports []corev1.ServicePort
	for i, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"http", "dns", "other"}), rapid.ID).Draw(t,
		"names in the spec") {
		ports = append(ports, corev1.ServicePort{Name: name, Port: int32(80 + i),
			Protocol: rapid.SampledFrom([]corev1.Protocol{"", "TCP", "UDP"}).Draw(t, "protocol in the spec")})
	}
	return ports
}

func drawView(t *rapid.T, tb testing.TB) project.View {
	mux := types.NamespacedName{Namespace: "svc-mux", Name: rapid.SampledFrom([]string{"mux", "edge"}).Draw(t, "mux")}
	return project.View{Keys: keys(tb), Channel: types.NamespacedName{Namespace: "app", Name: "web"},
		Mux: project.Mux{Key: mux, UID: types.UID(rapid.SampledFrom([]string{"1", "2"}).Draw(t, "uid")),
			IsMux: rapid.IntRange(0, 9).Draw(t, "is mux") > 0, Deleting: rapid.IntRange(0, 9).Draw(t, "deleting") == 0,
			Families: rapid.SampledFrom([][]corev1.IPFamily{nil, {"IPv4"}, {"IPv6"}, {"IPv4", "IPv6"}}).Draw(t, "families")},
		ClaimsKnown: rapid.IntRange(0, 9).Draw(t, "known") > 0,
		Claims:      drawClaims(t), Ports: drawPorts(t), Sources: drawSources(t), Taken: map[string]bool{}}
}

// TestDecisionsOfAnyViews decides from random views, one after the other.
func TestDecisionsOfAnyViews(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st := &stage{stands: map[string]*discoveryv1.EndpointSlice{}}
		for range rapid.IntRange(1, 4).Draw(rt, "steps") {
			v := drawView(rt, t)
			for _, name := range slices.Sorted(maps.Keys(st.stands)) {
				v.Carried = append(v.Carried, st.stands[name])
			}
			before := clone(v)
			decided := project.Decide(v)
			if diff := cmp.Diff(before, v); diff != "" {
				rt.Fatalf("what it was given has changed:\n%s", diff)
			}
			shuffled := v
			shuffled.Sources, shuffled.Carried, shuffled.Claims = backwards(v.Sources), backwards(v.Carried), backwards(v.Claims)
			if other := project.Decide(shuffled); other.String() != decided.String() && distinctNames(v.Claims) {
				rt.Fatalf("in another order it decides otherwise:\n%s\n%s", decided.String(), other.String())
			}
			st.carryOut(t, decided)
			v.Carried = nil
			for _, name := range slices.Sorted(maps.Keys(st.stands)) {
				v.Carried = append(v.Carried, st.stands[name])
			}
			again := project.Decide(v)
			if !again.Empty() || again.Carried != decided.Carried {
				rt.Fatalf("it isn't content with what it has done:\n%s", again.String())
			}
			if v.Mux.IsMux && v.ClaimsKnown && !v.Mux.Deleting {
				holds(rt, v)
			}
		}
	})
}

// holds checks the carried slices against the rules, independently of Decide.
func holds(t *rapid.T, v project.View) {
	claimed := map[string]bool{}
	for _, claim := range v.Claims {
		claimed[claim.MuxName] = true
	}
	for _, slice := range v.Carried {
		if slice.Labels[discoveryv1.LabelServiceName] != v.Mux.Key.Name || slice.OwnerReferences[0].UID != v.Mux.UID {
			t.Fatalf("%s is %s's, not the mux's", slice.Name, slice.OwnerReferences[0].UID)
		}
		if len(slice.Ports) == 0 || slice.AddressType == discoveryv1.AddressTypeFQDN {
			t.Fatalf("%s carries nothing", slice.Name)
		}
		used := map[string]bool{}
		for _, port := range slice.Ports {
			if !claimed[*port.Name] || used[*port.Name] {
				t.Fatalf("%s has port %q", slice.Name, *port.Name)
			}
			used[*port.Name] = true
		}
		for _, e := range slice.Endpoints {
			if e.DeprecatedTopology != nil {
				t.Fatalf("%s has the old topology", slice.Name)
			}
		}
	}
}

func clone(v project.View) project.View {
	v.Sources, v.Carried = cloneAll(v.Sources), cloneAll(v.Carried)
	v.Claims, v.Taken = slices.Clone(v.Claims), maps.Clone(v.Taken)
	return v
}

func cloneAll(list []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	var all []*discoveryv1.EndpointSlice
	for _, slice := range list {
		all = append(all, slice.DeepCopy())
	}
	return all
}

func backwards[T any](list []T) []T {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// distinctNames is true if no two claims have the same name on the mux, as on every real mux.
func distinctNames(claims []plan.Claim) bool {
	names := map[string]bool{}
	for _, claim := range claims {
		names[claim.MuxName] = true
	}
	return len(names) == len(claims)
}
