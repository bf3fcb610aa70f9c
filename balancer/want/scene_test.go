package want_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/validation"
)

// scene is a world in YAML. All muxes are in the namespace edge. The gateway is called a.
type scene struct {
	// Note describes the behaviour that the scene shows.
	Note string `json:"note"`
	// Before is the scene whose decision came before.
	Before *scene `json:"before"`
	// Claims are the text of the ConfigMap. Without it, the claims are unread.
	Claims map[string]any `json:"claims"`
	Muxes  []struct {
		Name  string               `json:"name"`
		Ports []corev1.ServicePort `json:"ports"`
		// Ranges is the mux's annotation.
		Ranges string   `json:"ranges"`
		Shown  []string `json:"shown"`
	} `json:"muxes"`
	Slices []struct {
		Mux       string                  `json:"mux"`
		Owner     string                  `json:"owner"`
		Type      discoveryv1.AddressType `json:"type"`
		Ports     map[string]int32        `json:"ports"`
		Sources   *string                 `json:"sources"`
		Affinity  string                  `json:"affinity"`
		Policy    string                  `json:"policy"`
		Near      []string                `json:"near"`  // ready, on the gateway's own node
		On        map[string]string       `json:"nodes"` // by address
		Ready     []string                `json:"ready"`
		Unready   []string                `json:"unready"`
		Draining  []string                `json:"draining"`
		AsForeign bool                    `json:"asForeign"`
		UDP       bool                    `json:"udp"`
	} `json:"slices"`
	ReturnPath want.ReturnPath `json:"returnPath"`
	NoIPv6     bool            `json:"noIPv6"`
	NoSource   bool            `json:"noSource"`
	Networks   []string        `json:"networks"`
	// UnreadMuxes and UnreadSlices are lists that weren't read.
	UnreadMuxes  bool `json:"unreadMuxes"`
	UnreadSlices bool `json:"unreadSlices"`
}

func keys(t testing.TB) validation.Keys {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	return language.Keys()
}

func (s *scene) world(t testing.TB) *want.World {
	t.Helper()
	a := netip.MustParseAddr
	w := &want.World{Keys: keys(t),
		Settings: want.Settings{Gateway: "a", Own: []netip.Addr{a("127.0.0.1"), a("10.0.0.1"), a("fd00::1")},
			Source: []netip.Addr{a("10.0.0.1"), a("fd00::1")}, ReturnPath: s.ReturnPath, Node: "node-a"}}
	if s.ReturnPath == "" {
		w.Settings.ReturnPath = want.ViaNode
	}
	if s.NoIPv6 {
		w.Settings.Own, w.Settings.Source = w.Settings.Own[:2], w.Settings.Source[:1]
	}
	if s.NoSource {
		w.Settings.Source = nil
	}
	for _, network := range s.Networks {
		w.Settings.BackendNetworks = append(w.Settings.BackendNetworks, netip.MustParsePrefix(network))
	}
	if s.Claims != nil {
		w.Claims = s.claims(t)
	}
	w.Muxes.IsRead, w.Slices.IsRead = !s.UnreadMuxes, !s.UnreadSlices
	for _, m := range s.Muxes {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: m.Name, UID: types.UID(m.Name)}}
		svc.Spec.Ports, svc.Annotations = m.Ports, map[string]string{w.Keys.Ranges: m.Ranges}
		for _, ip := range m.Shown {
			svc.Status.LoadBalancer.Ingress = append(svc.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: ip})
		}
		w.Muxes.Items = append(w.Muxes.Items, svc)
	}
	for i := range s.Slices {
		w.Slices.Items = append(w.Slices.Items, want.ReadSlice(s.slice(w.Keys, i)))
	}
	if s.Before != nil {
		w.Before = want.Decide(s.Before.world(t)).Wanted
	}
	return w
}

func (s *scene) claims(t testing.TB) *claims.Claims {
	t.Helper()
	text, err := json.Marshal(s.Claims)
	if err != nil {
		t.Fatal(err)
	}
	c, err := claims.Decode(&corev1.ConfigMap{Data: map[string]string{claims.Key: string(text)}}, "p")
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func (s *scene) slice(keys validation.Keys, i int) *discoveryv1.EndpointSlice {
	given := &s.Slices[i]
	owner := given.Owner
	if owner == "" {
		owner = given.Mux
	}
	slice := &discoveryv1.EndpointSlice{AddressType: given.Type,
		ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: fmt.Sprint("slice-", i),
			Labels: map[string]string{discoveryv1.LabelServiceName: given.Mux}, Annotations: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: given.Mux,
				UID: types.UID(owner)}}}}
	if !given.AsForeign {
		slice.Annotations[keys.Managed] = "true"
	}
	if slice.AddressType == "" {
		slice.AddressType = discoveryv1.AddressTypeIPv4
	}
	if given.Sources != nil {
		slice.Annotations[keys.SourceRanges] = *given.Sources
	}
	if given.Affinity != "" {
		slice.Annotations[keys.SessionAffinity] = given.Affinity
	}
	if given.Policy != "" {
		slice.Annotations[keys.TrafficPolicy] = given.Policy
	}
	for name, number := range given.Ports {
		protocol := corev1.ProtocolTCP
		if given.UDP {
			protocol = corev1.ProtocolUDP
		}
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &name, Protocol: &protocol, Port: &number})
	}
	yes, no := true, false
	add := func(addresses []string, conditions discoveryv1.EndpointConditions) {
		for _, address := range addresses {
			endpoint := discoveryv1.Endpoint{Addresses: []string{address}, Conditions: conditions}
			if node, known := given.On[address]; known {
				endpoint.NodeName = &node
			}
			slice.Endpoints = append(slice.Endpoints, endpoint)
		}
	}
	add(given.Ready, discoveryv1.EndpointConditions{})
	add(given.Near, discoveryv1.EndpointConditions{})
	node := "node-a"
	for i := range given.Near {
		slice.Endpoints[len(given.Ready)+i].NodeName = &node
	}
	add(given.Unready, discoveryv1.EndpointConditions{Ready: &no})
	add(given.Draining, discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes})
	return slice
}
