package sim

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

func (w *world) people() string {
	key := types.NamespacedName{Namespace: pick(w.Sim, "app", "other"), Name: pick(w.Sim, "a", "b", "c")}
	svc := w.service(key)
	switch n := w.rng.IntN(100); {
	case svc == nil:
		return w.createChannel(key)
	case n < 20:
		w.drop(api.Services, key)
		return fmt.Sprintf("%s is deleted", key)
	case n < 30:
		value := "true"
		if svc.Annotations[w.key("disabled")] == "true" {
			value = ""
		}
		annotate(svc, w.key("disabled"), value)
		return fmt.Sprintf("%s: disabled is %q%s", key, value, w.put(svc, false))
	case n < 37:
		return w.retype(svc)
	case n < 42:
		return w.hold(svc)
	}
	return w.edit(svc)
}

// retype makes a channel an ordinary Service, or a channel again.
func (w *world) retype(svc *corev1.Service) string {
	if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		svc.Spec.Type = corev1.ServiceTypeClusterIP
		return fmt.Sprintf("%s/%s is no load balancer any more%s", svc.Namespace, svc.Name, w.put(svc, false))
	}
	svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, ptr.To(w.key(pick(w.Sim,
		w.classes("mux", "mux", "spare")...)))
	return fmt.Sprintf("%s/%s is a channel of %s%s", svc.Namespace, svc.Name, *svc.Spec.LoadBalancerClass,
		w.put(svc, false))
}

// hold adds a finalizer to a Service, or removes it.
func (w *world) hold(svc *corev1.Service) string {
	svc.Finalizers = pick(w.Sim, nil, []string{"example.com/hold"})
	return fmt.Sprintf("%s/%s has finalizers %v%s", svc.Namespace, svc.Name, svc.Finalizers, w.put(svc, false))
}

func (w *world) createChannel(key types.NamespacedName) string {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	svc.Spec.LoadBalancerClass = ptr.To(w.key(pick(w.Sim, w.classes("mux", "mux", "mux", "spare", "nowhere")...)))
	svc.Spec.AllocateLoadBalancerNodePorts = ptr.To(false)
	return fmt.Sprintf("a channel of %s: %s", *svc.Spec.LoadBalancerClass, w.edit(svc))
}

// classes adds the muxes of Gateways, which channels may share with listeners.
func (w *world) classes(muxes ...string) []string {
	if w.hasGateways() {
		for _, gateway := range []string{"edge", "edge", "edge", "side"} {
			muxes = append(muxes, muxOf(gateway).Name)
		}
	}
	return muxes
}

// edit changes the ports of a channel.
func (w *world) edit(svc *corev1.Service) string {
	var asked []string
	svc.Spec.Ports = nil
	for i, name := range []string{"x", "y", "z"}[:1+w.rng.IntN(2)] {
		port := corev1.ServicePort{Name: pick(w.Sim, name, name, name, name+"r"), Port: int32(100 + 10*i + w.rng.IntN(4)),
			Protocol: pick(w.Sim, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP)}
		svc.Spec.Ports = append(svc.Spec.Ports, port)
		if asks := pick(w.Sim, "", "auto", "auto", "auto", "102", "203", "204"); asks != "" {
			asked = append(asked, port.Name+":"+asks)
		}
	}
	if w.chance(3) {
		asked = append(asked, "nobody:80")
	}
	annotate(svc, w.key("external-ports"), strings.Join(asked, ","))
	annotate(svc, w.key("external-dns-hostname"), pick(w.Sim, "", "", "a.example.com", "a.example.com,b.example.com"))
	return fmt.Sprintf("%s/%s asks for %q%s", svc.Namespace, svc.Name, asked, w.put(svc, false))
}

func annotate(obj client.Object, key, value string) {
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	if value == "" {
		delete(annotations, key)
	}
	obj.SetAnnotations(annotations)
}
