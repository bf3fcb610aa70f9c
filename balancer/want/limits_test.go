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

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/validation"
)

// addMux adds a mux with so many ports. All of them have the same endpoints, in slices of 100.
func addMux(w *want.World, name string, ports, endpoints int) {
	number, target := len(w.Muxes.Items), int32(8080)
	address := netip.AddrFrom4([4]byte{192, 0, 2, byte(number)})
	key := types.NamespacedName{Namespace: "edge", Name: name}
	*w.Claims = w.Claims.Hold(claims.Mux{Key: key, UID: types.UID(name), Addresses: []netip.Addr{address}, Seat: 7})
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: name, UID: types.UID(name)}}
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address.String()}}
	var all []discoveryv1.EndpointPort
	for i := range ports {
		port := fmt.Sprint("p", i)
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: port, Port: int32(i + 1)})
		all = append(all, discoveryv1.EndpointPort{Name: &port, Port: &target})
	}
	for first := 0; first < endpoints; first += 100 {
		slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Ports: all,
			ObjectMeta: metav1.ObjectMeta{Namespace: "edge",
				Name: fmt.Sprint(name, "-", first), Labels: map[string]string{discoveryv1.LabelServiceName: name},
				Annotations:     map[string]string{w.Keys.Managed: "true", w.Keys.SourceRanges: ""},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: name, UID: svc.UID}}}}
		for i := first; i < min(first+100, endpoints); i++ {
			slice.Endpoints = append(slice.Endpoints,
				discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.%d.%d.%d", number, i/250, i%250)}})
		}
		w.Slices.Items = append(w.Slices.Items, want.ReadSlice(slice))
	}
	w.Muxes.Items = append(w.Muxes.Items, svc)
}

func worldOfMuxes(keys validation.Keys) *want.World {
	w := &want.World{Keys: keys,
		Claims:   &claims.Claims{Pool: "p", Seats: []claims.Seat{{RouterID: 7, Order: []string{"a", "b"}}}},
		Settings: want.Settings{Gateway: "a", ReturnPath: want.ViaRouted}}
	w.Muxes.IsRead, w.Slices.IsRead = true, true
	return w
}

func slotsOf(d want.Decision, mux string) (most, all int) {
	for _, s := range d.Wanted.Tables.Services {
		if s.Mux.Name == mux {
			most, all = max(most, len(s.Slots)), all+len(s.Slots)
		}
	}
	return most, all
}

func TestSlotsOfAPortAndOfAMuxAreLimited(t *testing.T) {
	for name, c := range map[string]struct {
		ports, endpoints, most, all int
		says                        string
	}{
		"a port with many backends": {2, 3000, 1024, 2048,
			"p0 has 3000 backends, and 1024 of them are used: a port may have 1024: "},
		"a mux of many ports": {1000, 1000, 41, 41000, "p0 has 1000 backends, and 41 of them are used: beyond " +
			"one for each port, all ports of a mux may have 40000 together: "},
		"as many as a mux may have":      {39, 1024, 1024, 39936, ""},
		"ten thousand ports of a fleet":  {10000, 3, 3, 30000, ""},
		"a port with a backend too much": {1, 1025, 1024, 1024, "p0 has 1025 backends, and 1024 of them are used: "},
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOfMuxes(keys(t))
			addMux(w, "small", 3, 5)
			before := want.Decide(w)
			addMux(w, "worst", c.ports, c.endpoints)
			d := want.Decide(w)
			if most, all := slotsOf(d, "worst"); most != c.most || all != c.all {
				t.Errorf("a port has %d slots at most, want %d; the mux has %d, want %d", most, c.most, all, c.all)
			}
			says := func(r want.Refusal) bool {
				return r.Mux.Name == "worst" && r.Port == "p0" && r.Reason == want.TooManySlots &&
					strings.HasPrefix(r.Message, c.says)
			}
			if (c.says != "") != slices.ContainsFunc(d.Refusals, says) || c.says == "" && len(d.Refusals) > 0 {
				t.Errorf("refusals: %+v", d.Refusals[:min(3, len(d.Refusals))])
			}
			if diff := cmp.Diff(othersThan("worst", before.Wanted.Tables), othersThan("worst", d.Wanted.Tables),
				compareIP()); diff != "" {
				t.Errorf("the neighbour changed (-before +after):\n%s", diff)
			}
		})
	}
}

// The slots of the machine are divided fairly: the muxes that need less than an even share keep all theirs.
func TestSlotsOfAllMuxesAreDividedFairly(t *testing.T) {
	w := worldOfMuxes(keys(t))
	addMux(w, "small", 100, 50)
	for i := range 9 {
		addMux(w, fmt.Sprint("worst-", i), 64, 1024)
	}
	d := want.Decide(w)
	total := 0
	for i := range 9 {
		_, all := slotsOf(d, fmt.Sprint("worst-", i))
		if total += all; all < 5_000 {
			t.Errorf("mux %d has %d slots", i, all)
		}
	}
	if _, all := slotsOf(d, "small"); all != 5_000 || total+all > 50_000+100+9*64 {
		t.Errorf("the small mux has %d slots, the others have %d", all, total)
	}
	if !slices.ContainsFunc(d.Refusals, func(r want.Refusal) bool {
		return r.Mux.Name == "worst-8" && strings.Contains(r.Message,
			"beyond one for each port, all muxes of a pool may have 50000 together")
	}) {
		t.Errorf("refusals: %+v", d.Refusals[:min(3, len(d.Refusals))])
	}
}

// addRestricted adds a mux with so many channels of one port and one slice, each with so many source ranges of its own.
func addRestricted(w *want.World, name string, channels, ranges int) {
	addMux(w, name, channels, 0)
	svc := w.Muxes.Items[len(w.Muxes.Items)-1]
	for i := range channels {
		portName, target := fmt.Sprint("p", i), int32(8080)
		var list []string
		for j := range ranges {
			list = append(list, fmt.Sprintf("172.%d.%d.0/24", i%256, j%256))
		}
		slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
			Ports: []discoveryv1.EndpointPort{{Name: &portName, Port: &target}}, ObjectMeta: metav1.ObjectMeta{Namespace: "edge",
				Name: fmt.Sprint(name, "-", i), Labels: map[string]string{discoveryv1.LabelServiceName: name},
				Annotations:     map[string]string{w.Keys.Managed: "true", w.Keys.SourceRanges: strings.Join(list, ",")},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: name, UID: svc.UID}}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}}
		w.Slices.Items = append(w.Slices.Items, want.ReadSlice(slice))
	}
}

// Beyond the limits of source ranges, the ports with the longest lists are closed. The others, and other muxes within
// an even share, stay open.
func TestSourceRangesOfAMuxAndOfAllMuxesAreLimited(t *testing.T) {
	open := func(d want.Decision, mux string) (ports int) {
		for _, s := range d.Wanted.Tables.Services {
			if s.Mux.Name == mux && len(s.Slots) > 0 {
				ports++
			}
		}
		return ports
	}
	for name, c := range map[string]struct {
		muxes, channels, ranges, open int
		says                          string
	}{
		"as many as a mux may have": {1, 64, 256, 64, ""},
		"more than a mux may have": {1, 65, 256, 64, "p64 is closed: it has 256 source ranges, and the mux has room " +
			"for 16384: all channels of a mux may have 16384 together"},
		"as many as a machine may have": {3, 64, 256, 64, ""},
		"more than a machine may have": {5, 64, 256, 51,
			"and the mux has room for 13067: all muxes of a pool may have 65536 together"},
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOfMuxes(keys(t))
			addRestricted(w, "small", 2, 100)
			for i := range c.muxes {
				addRestricted(w, fmt.Sprint("worst-", i), c.channels, c.ranges)
			}
			d := want.Decide(w)
			if got := open(d, "worst-0"); got != c.open || open(d, "small") != 2 {
				t.Errorf("%d ports of the worst mux are open, want %d; %d of the small one", got, c.open, open(d, "small"))
			}
			says := func(r want.Refusal) bool {
				return r.Mux.Name == "worst-0" && r.Reason == want.TooManyNetworks && strings.Contains(r.Message, c.says)
			}
			if (c.says != "") != slices.ContainsFunc(d.Refusals, says) {
				t.Errorf("refusals: %+v", d.Refusals[:min(3, len(d.Refusals))])
			}
		})
	}
}

// A tenant with many muxes, or many large ones, takes nothing from a mux of another namespace, and in its own namespace
// leaves each port a backend.
func TestManyMuxesOfATenantCloseNoPortOfOthers(t *testing.T) {
	w := worldOfMuxes(keys(t))
	addMux(w, "near", 1000, 3)
	addMux(w, "victim", 1000, 3)
	move(w, "victim", "shop")
	for i := range 131 {
		addMux(w, fmt.Sprint("worst-", i), 1, 1024)
	}
	d := want.Decide(w)
	if most, all := slotsOf(d, "victim"); most != 3 || all != 3000 {
		t.Errorf("the mux of another namespace has %d slots, want 3000", all)
	}
	if most, all := slotsOf(d, "near"); most < 1 || all < 1000 {
		t.Errorf("the mux of the same namespace has %d slots for 1000 ports", all)
	}
}

// move moves a mux to another namespace.
func move(w *want.World, name, namespace string) {
	for _, svc := range w.Muxes.Items {
		if svc.Name == name {
			svc.Namespace = namespace
		}
	}
	for _, slice := range w.Slices.Items {
		if slice.Labels[discoveryv1.LabelServiceName] == name {
			slice.Namespace = namespace
		}
	}
	for i := range w.Claims.Muxes {
		if w.Claims.Muxes[i].Key.Name == name {
			w.Claims.Muxes[i].Key.Namespace = namespace
		}
	}
}

// Source ranges of many muxes close no port of a mux in another namespace.
func TestSourceRangesOfManyMuxesCloseNoPortOfOthers(t *testing.T) {
	w := worldOfMuxes(keys(t))
	addRestricted(w, "victim", 3, 256)
	move(w, "victim", "shop")
	for i := range 100 {
		addRestricted(w, fmt.Sprint("worst-", i), 4, 256)
	}
	for _, s := range want.Decide(w).Wanted.Tables.Services {
		if s.Mux.Name == "victim" && len(s.Slots) == 0 {
			t.Errorf("port %d of another namespace's mux is closed", s.First)
		}
	}
}

// Ports beyond the limits aren't carried, and the mux says so once.
func TestPortsOfAMuxAreLimited(t *testing.T) {
	w := worldOfMuxes(keys(t))
	addMux(w, "small", 3, 1)
	addMux(w, "worst", 20_001, 0)
	d := want.Decide(w)
	count := map[string]int{}
	for _, s := range d.Wanted.Tables.Services {
		count[s.Mux.Name]++
	}
	if count["worst"] != 20_000 || count["small"] != 3 {
		t.Errorf("services: %v", count)
	}
	if len(d.Refusals) != 1 || d.Refusals[0].Reason != want.TooManyPorts || d.Refusals[0].Mux.Name != "worst" {
		t.Errorf("refusals: %+v", d.Refusals)
	}
}

// Gateways have the slices in other orders, and refuse other endpoints: their own addresses. An excess must be cut
// alike.
func TestExcessIsCutAlikeOnEveryGateway(t *testing.T) {
	w := worldOfMuxes(keys(t))
	addMux(w, "worst", 300, 2000)
	one := want.Decide(w)
	slices.Reverse(w.Slices.Items)
	// beyond the ones that are used
	w.Settings.Gateway, w.Settings.Own = "b", []netip.Addr{netip.MustParseAddr("10.0.7.240")}
	// a diff of so much takes minutes
	if other := want.Decide(w); !reflect.DeepEqual(one.Wanted.Tables, other.Wanted.Tables) {
		t.Errorf("the first port has %v\non the other gateway %v", one.Wanted.Tables.Services[0].Slots,
			other.Wanted.Tables.Services[0].Slots)
	}
}
