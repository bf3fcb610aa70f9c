package plan_test

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// The cluster keeps a listener of a Gateway as a Service that has a slash in its name, with one port. So the checks of
// channels check listeners, too. The process reads it as package reconciler/gatewayapi/read does. The conditions,
// address and note of such a Service are in the process's memory: a restart forgets them.

func isListener(key types.NamespacedName) bool { return strings.Contains(key.Name, "/") }

// read returns a channel or a listener, as the process reads it.
func (c *cluster) read(svc *corev1.Service) plan.ObservedChannel {
	key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	if !isListener(key) {
		return plan.ReadChannel(c.language, svc)
	}
	port := svc.Spec.Ports[0]
	return plan.ObservedChannel{
		Admitted: true, Address: svc.Status.LoadBalancer.Ingress, Conditions: svc.Status.Conditions,
		PortsNote: svc.Annotations[c.language.Keys().Ports],
		Channel: validation.Channel{
			Object: validation.Object{Key: key, UID: svc.UID, Created: svc.CreationTimestamp.Time}, Mux: muxKey,
			Ports: []validation.ChannelPort{{Name: strings.ToLower(string(port.Protocol)), Protocol: port.Protocol,
				Port:    port.Port,
				Request: validation.Request{Kind: validation.Number, Number: port.Port}}},
		},
	}
}

// putListener stores a listener with its number.
func (c *cluster) putListener(svc *corev1.Service, number int32, protocol corev1.Protocol) {
	class := c.language.Prefix() + "/mux"
	svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, &class
	svc.Spec.Ports = []corev1.ServicePort{{Name: strings.ToLower(string(protocol)), Protocol: protocol, Port: number}}
	c.put(svc)
}

// forgetListeners does what a crash does to the memory of the process.
func (c *cluster) forgetListeners() {
	for key, svc := range c.services {
		if isListener(key) {
			svc = svc.DeepCopy()
			svc.Status, svc.Annotations = corev1.ServiceStatus{}, nil
			c.services[key] = svc
		}
	}
}

// restartListeners: a process that starts doesn't know the listeners until it has read their Gateways.
func (h *history) restartListeners() {
	if !h.listens {
		return
	}
	h.forgetListeners()
	if h.unread = h.chance("Gateways are read late", 50); h.unread {
		h.note("no Gateway is read yet")
	}
}

// listeners creates, changes and deletes listeners. Those of a Gateway are in the mux's namespace, and those of
// ListenerSets in the tenants'.
func (h *history) listeners() {
	key := pick(h, "listener", types.NamespacedName{Namespace: muxKey.Namespace, Name: "gateway/edge/a"},
		types.NamespacedName{Namespace: muxKey.Namespace, Name: "gateway/edge/b"},
		types.NamespacedName{Namespace: "app", Name: "listenerset/s/a"},
		types.NamespacedName{Namespace: "app", Name: "listenerset/s/b"},
		types.NamespacedName{Namespace: "other", Name: "listenerset/s/a"})
	svc := h.services[key]
	switch {
	case svc == nil:
		svc = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		svc.CreationTimestamp = metav1.NewTime(h.now.Add(-time.Duration(rapid.IntRange(0, 3).Draw(h.r, "age")) * time.Hour))
		h.changeListener(svc)
	case h.chance("delete", 25):
		h.note("listener %s goes", key)
		delete(h.services, key)
	case h.chance("recreate", 15): // as its ListenerSet is created again
		again := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name,
			CreationTimestamp: metav1.NewTime(h.now)}}
		h.note("listener %s is created again", key)
		h.putListener(again, svc.Spec.Ports[0].Port, svc.Spec.Ports[0].Protocol)
	case h.chance("swap", 15):
		h.swapListeners(svc)
	default:
		h.changeListener(svc.DeepCopy())
	}
}

// changeListener gives a listener another number.
func (h *history) changeListener(svc *corev1.Service) {
	number := pick(h, "number", int32(100), 101, 102, 103, 203, 204, 205, 300)
	protocol := pick(h, "protocol", corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP)
	h.note("listener %s/%s is on %d/%s", svc.Namespace, svc.Name, number, protocol)
	h.putListener(svc, number, protocol)
}

// swapListeners exchanges the numbers of two listeners.
func (h *history) swapListeners(svc *corev1.Service) {
	for _, key := range h.channels() {
		if isListener(key) && key.Name != svc.Name {
			a, b := svc.DeepCopy(), h.services[key].DeepCopy()
			h.note("listeners %s/%s and %s swap their numbers", svc.Namespace, svc.Name, key)
			mine, other := a.Spec.Ports[0], b.Spec.Ports[0]
			h.putListener(a, other.Port, other.Protocol)
			h.putListener(b, mine.Port, mine.Protocol)
			return
		}
	}
}
