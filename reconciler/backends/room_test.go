package backends

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// crowd is a mux on gateways with channels, and the line that carries their endpoints.
type crowd struct {
	*line
	t     *testing.T
	cache *indexed
	ports map[types.NamespacedName]int
	now   time.Time
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{t: t, cache: newIndexed(t, language), ports: map[types.NamespacedName]int{}, now: time.Unix(1_000_000, 0)}
	class := language.FormatGatewayClass("rack")
	c.cache.set(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux", UID: "mux-uid",
		Annotations: map[string]string{language.Keys().Multiplexer: "true"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			LoadBalancerClass: &class}})
	c.restart(language)
	return c
}

// restart loses what the line remembers.
func (c *crowd) restart(language validation.Language) {
	c.line = newLine(Options{Language: language, Reports: &Reports{}, Metrics: NewMetrics(), Now: func() time.Time {
		return c.now
	},
		LooksAfter: func(types.NamespacedName) bool { return true },
		Claims: func(channel, _ types.NamespacedName) (claims []plan.Claim, known bool) {
			for i := range c.ports[channel] {
				claims = append(claims,
					plan.Claim{Owner: plan.PortID{Channel: channel, Name: fmt.Sprint("p", i), Protocol: corev1.ProtocolTCP},
						MuxName: fmt.Sprint("m", i)})
			}
			return claims, true
		}}, c.cache)
}

// channel sets a channel's ports and endpoints.
func (c *crowd) channel(namespace, name string, ports, endpoints int) types.NamespacedName {
	c.t.Helper()
	key, class := types.NamespacedName{Namespace: namespace, Name: name}, validation.DefaultPrefix+"/mux"
	c.ports[key] = ports
	c.cache.set(c.t, &corev1.Service{ObjectMeta: objectMeta(namespace, name),
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			LoadBalancerClass: &class}})
	for first := 0; first < endpoints || first == 0; first += 1000 {
		source := &discoveryv1.EndpointSlice{AddressType: "IPv4",
			ObjectMeta: objectMeta(namespace, fmt.Sprint(name, "-", first))}
		source.Labels = map[string]string{discoveryv1.LabelServiceName: name}
		for i := range ports {
			port, number := fmt.Sprint("p", i), int32(8000+i)
			source.Ports = append(source.Ports, discoveryv1.EndpointPort{Name: &port, Port: &number})
		}
		for i := first; i < min(first+1000, endpoints); i++ {
			source.Endpoints = append(source.Endpoints,
				discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.%d.%d", i/250, i%250)}})
		}
		c.cache.set(c.t, source)
	}
	return key
}

// pass makes a pass over a channel, writes its slices to the cache, and returns how many endpoints the mux has of it,
// and what its condition says.
func (c *crowd) pass(channel types.NamespacedName) (int, string) {
	c.t.Helper()
	seen, err := c.observe(c.t.Context(), channel)
	if err != nil {
		c.t.Fatal(err)
	}
	decided, err := c.decide(c.t.Context(), &seen)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range decided.Steps {
		if decided.Steps[i].Op == project.Delete {
			c.cache.remove(c.t, decided.Steps[i].Slice)
			continue
		}
		c.cache.set(c.t, decided.Steps[i].Slice)
	}
	c.Reports.set(&seen, decided.Excess, nil, c.now)
	return decided.Carried, c.Reports.Excess(channel, "mux-uid")
}

func (c *crowd) expect(channel types.NamespacedName, endpoints int, says string) {
	c.t.Helper()
	got, said := c.pass(channel)
	if got != endpoints || (says == "") != (said == "") || !strings.HasPrefix(said, says) {
		c.t.Errorf("%s has %d endpoints, want %d; its condition says %q, want %q", channel, got, endpoints, said, says)
	}
}

func TestEndpointsOfAPortOnGatewaysAreLimited(t *testing.T) {
	c := newCrowd(t)
	c.expect(c.channel("app", "web", 1, 2500), 1024,
		"1024 of 2500 IPv4 endpoints are used: a port on gateways may have 1024: use fewer")
	c.expect(c.channel("app", "full", 1, 1024), 1024, "")
	c.expect(c.channel("team", "grid", 1000, 1000), 3+4, "7 of 1000 IPv4 endpoints are used for each of 1000 ports: "+
		"beyond 3 endpoints for each port, the channels of namespace team may have 4096 together on the mux, and all "+
		"channels 16384: use fewer ports or pods, or another mux")
	c.expect(c.channel("app", "small", 20, 3), 3, "")
}

// Whatever other channels want, a channel keeps the endpoints that it has, and may have three for each port.
func TestChannelKeepsItsEndpointsWhenOthersGrow(t *testing.T) {
	c := newCrowd(t)
	web := c.channel("app", "web", 10, 100)
	c.expect(web, 100, "")
	for _, namespace := range []string{"hog-a", "hog-b", "hog-c", "hog-d"} {
		for i := range 2 {
			c.pass(c.channel(namespace, fmt.Sprint("hog-", i), 1000, 1000))
		}
	}
	c.now = c.now.Add(time.Hour)
	c.expect(web, 100, "")
	c.expect(c.channel("late", "small", 10, 3), 3, "")
	c.expect(c.channel("late", "more", 10, 30), 3+30-3, "")             // one namespace can't take the room of all
	c.expect(c.channel("late", "most", 100, 500), 3+1, "4 of 500 IPv4") // four namespaces can
	c.restart(c.Language)
	c.expect(c.channel("hog-a", "hog-1", 1000, 900), 3, "3 of 900 IPv4")
	c.expect(web, 100, "")
	c.channel("hog-d", "hog-0", 1000, 3)
	c.expect(types.NamespacedName{Namespace: "hog-d", Name: "hog-0"}, 3, "")
	c.expect(types.NamespacedName{Namespace: "hog-d", Name: "hog-1"}, 3+3, "6 of 1000") // the others have some of the room
}

// A new pod takes no place from a pod that is ready and has one, and a pod that is ready goes before one that isn't.
func TestUsedEndpointsStayWhileTheyAreReady(t *testing.T) {
	c := newCrowd(t)
	web := c.channel("app", "web", 1, 1030)
	c.expect(web, 1024, "1024 of 1030")
	used := func() map[string]bool {
		all := map[string]bool{}
		listed, err := OnMux(t.Context(), c.cache, types.NamespacedName{Namespace: "svc-mux", Name: "mux"})
		if err != nil {
			t.Fatal(err)
		}
		for _, slice := range listed {
			for _, e := range slice.Endpoints {
				all[e.Addresses[0]] = true
			}
		}
		return all
	}
	before := used()
	found, _, _ := c.cache.slices.GetByKey("app/web-0")
	source, no := found.(*discoveryv1.EndpointSlice).DeepCopy(), false
	source.Endpoints[7].Conditions.Ready = &no
	// it sorts before most
	source.Endpoints = append(source.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0.250"}})
	c.cache.set(t, source)
	c.expect(web, 1024, "1024 of 1031")
	after, left := used(), 0
	for address := range before {
		if !after[address] {
			left++
		}
	}
	if left != 1 || after["10.0.0.7"] {
		t.Errorf("%d endpoints left; the one that isn't ready is used: %t", left, after["10.0.0.7"])
	}
}
