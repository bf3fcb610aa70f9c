package sim

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// world is everybody except the reconciler. Their actions take effect at once, and never conflict.
type world struct {
	*Sim
	// declared holds the muxes as GitOps tools declare them.
	declared map[types.NamespacedName]*corev1.Service
	// saved holds copies of ledgers.
	saved map[types.NamespacedName]*corev1.ConfigMap
}

func newWorld(s *Sim) *world {
	return &world{Sim: s, declared: map[types.NamespacedName]*corev1.Service{},
		saved: map[types.NamespacedName]*corev1.ConfigMap{}}
}
func (w *world) key(name string) string { return w.language.Prefix() + "/" + name }

func (w *world) service(key types.NamespacedName) *corev1.Service {
	svc, _ := w.server.Peek(api.Services, key).(*corev1.Service)
	if svc == nil {
		return nil
	}
	return svc.DeepCopy()
}

// put creates or replaces an object. If the API server refuses it, nothing happens.
func (w *world) put(obj client.Object, status bool) string {
	if w.server.Peek(api.KindOf(obj), client.ObjectKeyFromObject(obj)) == nil {
		_, err := w.server.Create(obj)
		return words(err)
	}
	obj.SetResourceVersion("")
	_, err := w.server.Update(obj, status)
	return words(err)
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return " (refused: " + err.Error() + ")"
}

func (w *world) drop(kind api.Kind, key types.NamespacedName) {
	if err := w.server.Delete(kind, key, nil); err != nil {
		panic(err)
	}
}

// begin creates the muxes.
func (w *world) begin() {
	for _, key := range ownMuxes() {
		w.createMux(key)
	}
	if w.hasGateways() {
		w.beginGateways()
	}
}

func (w *world) createMux(key types.NamespacedName) string {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name,
		Annotations: map[string]string{
			w.key("multiplexer"): "true", w.key("port-range"): "203-207",
		}}}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	svc.Spec.AllocateLoadBalancerNodePorts = ptr.To(w.habits.bounds && w.Seed%2 == 1)
	svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: 101}}
	w.declared[key] = svc.DeepCopy()
	refused := w.put(svc, false)
	if w.chance(80) && refused == "" {
		w.address(key, []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}})
	}
	return fmt.Sprintf("mux %s is made%s", key, refused)
}

func (w *world) address(key types.NamespacedName, ingress []corev1.LoadBalancerIngress) {
	svc := w.service(key)
	svc.Status.LoadBalancer.Ingress = ingress
	w.put(svc, true)
}

// deed is an action of a user, a tool or a provider.
func (w *world) deed() string {
	if w.hasGateways() && w.chance(w.habits.gateways) {
		return w.gatewayDeed()
	}
	switch n := w.rng.IntN(20); {
	case n < 10:
		return w.people()
	case n < 16:
		return w.backends()
	case n < 18:
		return w.owner()
	case n < 19:
		return w.provider()
	}
	return w.gitops()
}

// backends acts as the endpoints controller, and as the pods behind it.
func (w *world) backends() string {
	return w.backendsOf(types.NamespacedName{Namespace: pick(w.Sim, "app", "other"), Name: pick(w.Sim, "a", "b", "c")})
}

func (w *world) backendsOf(channel types.NamespacedName) string {
	key := types.NamespacedName{Namespace: channel.Namespace, Name: channel.Name + "-" + pick(w.Sim, "1", "2")}
	is, _ := w.server.Peek(api.EndpointSlices, key).(*discoveryv1.EndpointSlice)
	if is != nil && w.chance(20) {
		w.drop(api.EndpointSlices, key)
		return fmt.Sprintf("slice %s goes", key)
	}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		AddressType: discoveryv1.AddressTypeIPv4}
	if is != nil {
		slice = is.DeepCopy()
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: channel.Name,
		discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}
	slice.Endpoints = nil
	for i := range w.rng.IntN(3) {
		slice.Endpoints = append(slice.Endpoints,
			discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.1.%d.%d", i, 1+w.rng.IntN(3))},
				Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(w.chance(80))}})
	}
	slice.Ports = nil
	if svc := w.service(channel); svc != nil {
		for _, port := range svc.Spec.Ports {
			slice.Ports = append(slice.Ports,
				discoveryv1.EndpointPort{Name: ptr.To(port.Name), Port: ptr.To(8000 + port.Port), Protocol: ptr.To(port.Protocol)})
		}
	}
	return fmt.Sprintf("slice %s has %d endpoint(s)%s", key, len(slice.Endpoints), w.put(slice, false))
}

// Bounded is the first seed whose histories have muxes with bounds per channel, and some with node ports. They have
// everything of Admitted histories, too.
const Bounded = 2_000_000_000

// bounded returns the reasons of Events for exceeded bounds.
func bounded() []string {
	return []string{string(plan.QuotaExceeded), string(plan.ProtocolNotAllowed), string(plan.HostnameNotAllowed)}
}

// owner changes a mux's settings.
func (w *world) owner() string {
	key := pick(w.Sim, w.muxes()...)
	svc := w.service(key)
	if svc == nil && !slices.Contains(ownMuxes(), key) {
		return ""
	}
	if svc == nil {
		return w.createMux(key)
	}
	settings := []string{"port-range", "explicit-range", "max-ports", "allowed-namespaces", "release-grace", "placeholder",
		"disabled", "allocation-configmap", "deleted", "selector", "multiplexer"}
	if w.habits.bounds {
		settings = append(settings, "max-ports-per-namespace", "allowed-protocols", "allowed-hostnames")
	}
	setting := pick(w.Sim, settings...)
	switch setting {
	case "deleted":
		w.drop(api.Services, key)
		return fmt.Sprintf("mux %s is deleted", key)
	case "selector":
		svc.Spec.Selector = pick(w.Sim, map[string]string{"app": "x"}, nil, nil)
		return fmt.Sprintf("mux %s selects %v%s", key, svc.Spec.Selector, w.put(svc, false))
	}
	value := pick(w.Sim, map[string][]string{
		"port-range": {"203-207", "203-204", "300-303", "203-", "203-207"}, "explicit-range": {"", "100-199", ""},
		"max-ports": {"", "2", "4", ""}, "allowed-namespaces": {"", "app", "", "*"}, "release-grace": {"", "10m", "5s"},
		"placeholder": {"", "keep", "remove"}, "disabled": {"", "true", ""}, "multiplexer": {"true", "", "true"},
		"allocation-configmap": {"", "", "elsewhere-" + key.Name}, "max-ports-per-namespace": {"", "1", "2", "3"},
		"allowed-protocols": {"", "TCP", "TCP,UDP", "UDP"},
		"allowed-hostnames": {"", "a.example.com", "*.example.com", "*.{namespace}.example.com"},
	}[setting]...)
	annotate(svc, w.key(setting), value)
	return fmt.Sprintf("mux %s: %s is %q%s", key, setting, value, w.put(svc, false))
}

// moveLedger moves a mux's ledger to another ConfigMap, or back.
func (w *world) moveLedger() string {
	key := pick(w.Sim, w.muxes()...)
	svc := w.service(key)
	if svc == nil {
		return ""
	}
	value := "moved-" + key.Name
	if svc.Annotations[w.key("allocation-configmap")] == value {
		value = ""
	}
	annotate(svc, w.key("allocation-configmap"), value)
	return fmt.Sprintf("mux %s keeps its ledger in %q%s", key, value, w.put(svc, false))
}

func (w *world) provider() string {
	key := pick(w.Sim, w.muxes()...)
	if w.service(key) == nil || w.service(key).Spec.Type != corev1.ServiceTypeLoadBalancer {
		return ""
	}
	ingress := pick(w.Sim, nil, []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}},
		[]corev1.LoadBalancerIngress{{IP: "203.0.113.20", IPMode: ptr.To(corev1.LoadBalancerIPModeVIP),
			Ports: []corev1.PortStatus{{Port: 101, Protocol: corev1.ProtocolTCP}}}},
		[]corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}, {IP: "203.0.113.30"}})
	w.address(key, ingress)
	text := ""
	for i := range ingress {
		text += " " + ingress[i].IP + ingress[i].Hostname
	}
	return fmt.Sprintf("mux %s has the address%s", key, text)
}

// gitops restores a mux as it is declared.
func (w *world) gitops() string {
	key := pick(w.Sim, w.muxes()...)
	svc := w.service(key)
	if svc == nil || w.declared[key] == nil {
		return ""
	}
	svc.Spec.Ports = slices.Clone(w.declared[key].Spec.Ports)
	if w.chance(30) {
		svc.Annotations = maps.Clone(w.declared[key].Annotations)
	}
	return fmt.Sprintf("a GitOps tool reverts mux %s%s", key, w.put(svc, false))
}
