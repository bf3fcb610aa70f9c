package balancer_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/test/nettest"
	"nowake.ai/svc-lb-mux/validation"
)

// segment is a client and two gateways on one segment, and backends behind them on another.
//
//	client 10.9.1.9 ──┬── gateway a 10.9.1.1, 10.9.2.1 ──┬── backends 10.9.2.11, .12
//	                  └── gateway b 10.9.1.2, 10.9.2.2 ──┘
//
// The mux's addresses are 10.9.1.100 and fd09:1::100.
type segment struct {
	t                      testing.TB
	front, back            *nettest.Namespace // bridges
	client, backends, a, b *nettest.Namespace
}

func mux4() netip.Addr { return netip.MustParseAddr("10.9.1.100") }
func mux6() netip.Addr { return netip.MustParseAddr("fd09:1::100") }

func muxAddresses() []netip.Addr { return []netip.Addr{mux4(), mux6()} }

func newSegment(t testing.TB) *segment {
	t.Helper()
	s := &segment{t: t, front: nettest.New(t), back: nettest.New(t), client: nettest.New(t), backends: nettest.New(t),
		a: nettest.New(t), b: nettest.New(t)}
	s.front.Bridge("br0")
	s.back.Bridge("br0")
	s.front.Plug("br0", "client", s.client, "eth0")
	s.back.Plug("br0", "backends", s.backends, "eth0")
	for name, gateway := range map[string]*nettest.Namespace{"a": s.a, "b": s.b} {
		gateway.Forward()
		s.front.Plug("br0", "to-"+name, gateway, "front")
		s.back.Plug("br0", "to-"+name, gateway, "back")
		number := map[string]string{"a": "1", "b": "2"}[name]
		gateway.Address("front", "10.9.1."+number+"/24", "fd09:1::"+number+"/64")
		gateway.Address("back", "10.9.2."+number+"/24", "fd09:2::"+number+"/64")
	}
	s.client.Address("eth0", "10.9.1.9/24", "fd09:1::9/64")
	for _, last := range []string{"11", "12"} {
		s.backends.Address("eth0", "10.9.2."+last+"/24", "fd09:2::"+last+"/64")
		for _, network := range []string{"10.9.2.", "fd09:2::"} {
			s.backends.ServeUDP(netip.MustParseAddr(network+last), 5353)
		}
	}
	s.backends.Serve(8080)
	return s
}

// config returns the settings of a gateway.
func (s *segment) config(name string) childConfig {
	number := map[string]string{"a": "1", "b": "2"}[name]
	return childConfig{Name: name, State: s.t.TempDir(), ReturnPath: want.ViaNode, Mode: announce.VRRP,
		Source: []netip.Addr{netip.MustParseAddr("10.9.2." + number), netip.MustParseAddr("fd09:2::" + number)}}
}

// news is one mux with the ports 80/TCP and 53/UDP. order has the gateways for its seat, the first choice first.
func news(order ...string) *newsText {
	text := fmt.Sprintf(`{"schemaVersion":1,"pool":"p","gateways":[{"name":"a","addresses":["10.9.1.1","fd09:1::1"]},`+
		`{"name":"b","addresses":["10.9.1.2","fd09:1::2"]}],"seats":[%s],`+
		`"muxes":[{"namespace":"edge","name":"web","uid":"web","addresses":["10.9.1.100","fd09:1::100"],"seat":7}]}`,
		seatClaims(order...))
	n := &newsText{Claims: corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "claims", ResourceVersion: "1"},
		Data: map[string]string{claims.Key: text}}}
	n.Muxes = []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "web", UID: "web"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
			{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}}}}
	for family, addresses := range map[discoveryv1.AddressType][]string{
		discoveryv1.AddressTypeIPv4: {"10.9.2.11", "10.9.2.12"},
		discoveryv1.AddressTypeIPv6: {"fd09:2::11", "fd09:2::12"}} {
		n.Slices = append(n.Slices, sliceOf(family, addresses))
	}
	return n
}

// newsOfTwo has a second mux with the same seat and one port.
func newsOfTwo(order ...string) *newsText {
	n := news(order...)
	n.Claims.ResourceVersion = "2"
	n.Claims.Data[claims.Key] = strings.Replace(n.Claims.Data[claims.Key], `"muxes":[`,
		`"muxes":[{"namespace":"edge","name":"mail","uid":"mail","addresses":["10.9.1.101"],"seat":7},`, 1)
	mail := n.Muxes[0].DeepCopy()
	mail.Name, mail.UID, mail.Spec.Ports = "mail", "mail", mail.Spec.Ports[:1]
	n.Muxes = append(n.Muxes, mail)
	return n
}

func sliceOf(family discoveryv1.AddressType, addresses []string) *discoveryv1.EndpointSlice {
	prefix := validation.DefaultPrefix + "/"
	slice := &discoveryv1.EndpointSlice{AddressType: family,
		ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "web-" + strings.ToLower(string(family)),
			Labels:          map[string]string{discoveryv1.LabelServiceName: "web"},
			Annotations:     map[string]string{prefix + "managed": "true", prefix + "source-ranges": ""},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: types.UID("web")}}}}
	for _, port := range []struct {
		name     string
		protocol corev1.Protocol
		number   int32
	}{{"http", corev1.ProtocolTCP, 8080}, {"dns", corev1.ProtocolUDP, 5353}} {
		slice.Ports = append(slice.Ports,
			discoveryv1.EndpointPort{Name: &port.name, Protocol: &port.protocol, Port: &port.number})
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return slice
}

// holds is true if a gateway's interface has both addresses of the mux.
func holds(gateway *nettest.Namespace) bool {
	listed := gateway.Run("ip", "-o", "address", "show", "dev", "front")
	return strings.Contains(listed, "10.9.1.100/32") && strings.Contains(listed, "fd09:1::100/128")
}

// has is true if a gateway's interface has an address.
func has(gateway *nettest.Namespace, address string) bool {
	return strings.Contains(gateway.Run("ip", "-o", "address", "show", "dev", "front"), address+"/")
}

// isFree is true if a gateway's interface has no address of the mux.
func isFree(gateway *nettest.Namespace) bool {
	listed := gateway.Run("ip", "-o", "address", "show", "dev", "front")
	return !strings.Contains(listed, "10.9.1.100") && !strings.Contains(listed, "fd09:1::100")
}

// answers asks the mux in both families over TCP and UDP.
func (s *segment) answers() error { return s.answersWithin(2 * time.Second) }

func (s *segment) answersWithin(timeout time.Duration) error {
	for _, address := range muxAddresses() {
		if _, _, err := s.client.AskWithin(timeout, address, 80); err != nil {
			return err
		}
		if _, _, err := s.client.AskUDP(address, 53); err != nil {
			return err
		}
	}
	return nil
}

func (s *segment) awaitAnswers() {
	s.t.Helper()
	var last error
	defer func() {
		if s.t.Failed() {
			s.t.Logf("the last answer: %v", last)
		}
	}()
	eventually(s.t, "the mux answers in both families over TCP and UDP", func() bool {
		last = s.answersWithin(100 * time.Millisecond) // short, so that one lost packet doesn't make an outage look longer
		return last == nil
	})
}

// programmed returns the addresses of the mux that an agent reported.
func (k *child) programmed() []netip.Addr {
	r := k.reported()
	mux, _ := r.Find("web")
	return mux.Programmed
}

func isProgrammed(k *child) bool { return slices.Equal(k.programmed(), muxAddresses()) }
