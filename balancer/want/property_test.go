package want_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/validation"
)

// drawWorld draws muxes with up to three ports, addresses good and bad, and source ranges that overlap.
func drawWorld(t *rapid.T, keys validation.Keys) *want.World {
	a := netip.MustParseAddr
	c := claims.Claims{Pool: "p", Seats: []claims.Seat{{RouterID: 7, Order: []string{"a", "b"}}},
		Gateways: []claims.Gateway{{Name: "a", Addresses: []netip.Addr{a("10.0.0.1")}},
			{Name: "b", Addresses: []netip.Addr{a("10.0.0.2")}}}}
	w := &want.World{Keys: keys, Claims: &c, Muxes: want.List[*corev1.Service]{IsRead: true},
		Slices: want.List[*want.Slice]{IsRead: true},
		Settings: want.Settings{Gateway: "a", Own: []netip.Addr{a("10.0.0.1")}, Source: []netip.Addr{a("10.0.0.1")},
			ReturnPath: rapid.SampledFrom([]want.ReturnPath{want.ViaNode, want.ViaRouted, want.ViaGateway}).Draw(t, "path"),
			BackendNetworks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"),
				netip.MustParsePrefix("169.254.0.0/16")}}}
	for i := range rapid.IntRange(1, 3).Draw(t, "muxes") {
		name, address := fmt.Sprint("mux-", i), netip.AddrFrom4([4]byte{10, 255, 0, byte(i)})
		c = c.Hold(claims.Mux{Key: types.NamespacedName{Namespace: "edge", Name: name}, Addresses: []netip.Addr{address},
			Seat: 7})
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: name, UID: types.UID(name)}}
		svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address.String()}}
		for p := range rapid.Int32Range(1, 3).Draw(t, "ports") {
			svc.Spec.Ports = append(svc.Spec.Ports,
				corev1.ServicePort{Name: fmt.Sprint("p", p), Port: rapid.Int32Range(80, 83).Draw(t, "number")})
			w.Slices.Items = append(w.Slices.Items, drawSlice(t, keys, svc, fmt.Sprint("p", p)),
				drawSlice(t, keys, svc, fmt.Sprint("p", p)))
		}
		w.Muxes.Items = append(w.Muxes.Items, svc)
	}
	return w
}

func drawSlice(t *rapid.T, keys validation.Keys, svc *corev1.Service, port string) *want.Slice {
	number := rapid.Int32Range(8080, 8082).Draw(t, "target")
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
		ObjectMeta: metav1.ObjectMeta{Namespace: "edge",
			Labels: map[string]string{discoveryv1.LabelServiceName: svc.Name},
			Annotations: map[string]string{keys.Managed: "true", keys.SourceRanges: rapid.SampledFrom([]string{"", "10.0.0.0/8",
				"10.0.0.0/8,10.1.0.0/16", "10.1.0.0/16, 192.0.2.0/24", "0.0.0.0/0", "192.0.2.128/25", "::/0"}).Draw(t, "sources")},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", UID: svc.UID}}},
		Ports: []discoveryv1.EndpointPort{{Name: &port, Port: &number}}}
	for range rapid.IntRange(0, 4).Draw(t, "endpoints") {
		address := rapid.SampledFrom([]string{"10.1.0.1", "10.1.0.2", "10.1.0.3",
			"10.0.0.1", "10.0.0.2", "127.0.0.1", "169.254.0.1", "11.0.0.1", "10.255.0.0", "fe80::1", "none", "0.0.0.0",
			"224.0.0.1"}).Draw(t, "backend")
		// pods on the hosts' network, and one on the node of a
		node := map[string]string{"10.0.0.1": "a", "10.0.0.2": "b", "10.1.0.1": "a"}[address]
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, NodeName: &node})
	}
	return want.ReadSlice(slice)
}

func TestBackendsAreNeverWhereNoneMayBe(t *testing.T) {
	keys, allowed := keys(t), []string{"10.1.0.1", "10.1.0.2", "10.1.0.3"}
	rapid.Check(t, func(t *rapid.T) {
		for _, s := range want.Decide(drawWorld(t, keys)).Wanted.Tables.Services {
			for _, b := range s.Slots {
				if !slices.Contains(allowed, b.Address.String()) {
					t.Errorf("backend %s of %s", b.Address, s.Mux)
				}
			}
		}
	})
}

func TestTheKernelTakesEveryDecision(t *testing.T) {
	keys := keys(t)
	rapid.Check(t, func(t *rapid.T) {
		tables := want.Decide(drawWorld(t, keys)).Wanted.Tables
		for i, s := range tables.Services {
			for _, other := range tables.Services[i+1:] {
				if s.Address == other.Address && s.Protocol == other.Protocol && s.First <= other.Last && other.First <= s.Last {
					t.Errorf("%+v overlaps %+v", s, other)
				}
			}
			for j, p := range s.Sources {
				for _, q := range s.Sources[j+1:] {
					if p.Overlaps(q) {
						t.Errorf("source %s overlaps %s", p, q)
					}
				}
			}
			if !slices.IsSortedFunc(s.Slots, func(a, b want.Backend) int {
				return strings.Compare(a.Address.String(), b.Address.String())
			}) {
				t.Errorf("slots %v aren't sorted by address", s.Slots)
			}
		}
	})
}

// Other gateways see lists in another order, and have other own addresses.
func TestSlotsAreAlikeOnEveryGateway(t *testing.T) {
	keys := keys(t)
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, keys)
		w.Settings.ReturnPath = want.ViaRouted
		one := want.Decide(w).Wanted.Tables
		w.Slices.Items = rapid.Permutation(w.Slices.Items).Draw(t, "slices")
		w.Muxes.Items = rapid.Permutation(w.Muxes.Items).Draw(t, "muxes")
		w.Settings.Gateway, w.Settings.Own = "b", []netip.Addr{netip.MustParseAddr("10.0.0.2")}
		w.Settings.Source = nil
		if diff := cmp.Diff(one, want.Decide(w).Wanted.Tables, compareIP()); diff != "" {
			t.Errorf("(-a +b):\n%s", diff)
		}
	})
}

func compareIP() cmp.Option {
	return cmp.Options{cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}
}

// Each kind of missing news alone leaves the tables as they were.
func TestMissingNewsLeavesTheTablesAsTheyWere(t *testing.T) {
	keys := keys(t)
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, keys)
		w.Before = want.Decide(w).Wanted
		switch rapid.IntRange(0, 5).Draw(t, "missing") {
		case 0:
			w.Claims = nil
		case 1:
			w.Muxes = want.List[*corev1.Service]{}
		case 2:
			w.Slices = want.List[*want.Slice]{}
		case 3:
			w.Muxes.Items = nil
		case 4:
			w.Slices.Items = nil
		case 5: // claims of another pool, or a ConfigMap that was emptied
			w.Claims = &claims.Claims{Pool: "p", Seats: w.Claims.Seats, Gateways: w.Claims.Gateways}
		}
		got := want.Decide(w)
		if diff := cmp.Diff(w.Before, got.Wanted, compareIP()); diff != "" {
			t.Errorf("(-before +now):\n%s", diff)
		}
		w.Before = nil
		if got := want.Decide(w); len(got.Unread) > 0 && got.Wanted != nil {
			t.Errorf("nothing was known before, and it wants %+v", got.Wanted)
		}
	})
}

// A bad mux harms only itself.
func TestFaultsOfAMuxChangeNoOtherMux(t *testing.T) {
	keys := keys(t)
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, keys)
		before := othersThan("mux-0", want.Decide(w).Wanted.Tables)
		for _, slice := range w.Slices.Items {
			if slice.Labels[discoveryv1.LabelServiceName] == "mux-0" {
				slice.Annotations[keys.SourceRanges] = "all"
			}
		}
		w.Muxes.Items[0].Spec.Ports = append(w.Muxes.Items[0].Spec.Ports, corev1.ServicePort{Name: "p0", Port: 80})
		if after := othersThan("mux-0", want.Decide(w).Wanted.Tables); !reflect.DeepEqual(before, after) {
			t.Errorf("before %+v\nafter %+v", before, after)
		}
	})
}

func othersThan(mux string, tables want.Tables) []want.Service {
	return slices.DeleteFunc(tables.Services, func(s want.Service) bool { return s.Mux.Name == mux })
}
