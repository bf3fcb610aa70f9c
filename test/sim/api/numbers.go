package api

import (
	"fmt"
	"maps"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The range of node ports. A port that asks for no number gets one from firstUnaskedFor on, as long as one is free.
const (
	firstNodePort   = 30000
	firstUnaskedFor = 30086
	lastNodePort    = 32767
)

// numbers allocates what Services share: node ports and cluster IPs.
type numbers struct {
	nodePorts map[int32]int // number of uses: TCP and UDP of a Service may share a node port
	next      int32
	addresses map[string]bool
	address   int
}

func newNumbers() numbers {
	return numbers{nodePorts: map[int32]int{}, next: firstUnaskedFor, addresses: map[string]bool{}}
}

func (n *numbers) clone() numbers {
	return numbers{nodePorts: maps.Clone(n.nodePorts), next: n.next, addresses: maps.Clone(n.addresses),
		address: n.address}
}

// allocate gives a Service the numbers it needs, and frees those it needs no more.
func (n *numbers) allocate(before, after client.Object) error {
	now, is := after.(*corev1.Service)
	if !is {
		return nil
	}
	if now.Spec.Type != corev1.ServiceTypeExternalName && now.Spec.ClusterIP == "" {
		n.address++
		now.Spec.ClusterIP = fmt.Sprintf("10.96.%d.%d", n.address/250, 1+n.address%250)
	}
	if now.Spec.ClusterIP != "" {
		now.Spec.ClusterIPs = []string{now.Spec.ClusterIP}
	}
	if err := n.askedFor(before, now); err != nil {
		return err
	}
	if err := n.fill(now, before == nil); err != nil {
		return err
	}
	had, has := nodePortsOf(before), nodePortsOf(now)
	for number := range has {
		if !had[number] {
			n.nodePorts[number]++
		}
	}
	for number := range had {
		if !has[number] {
			delete(n.nodePorts, number)
		}
	}
	return nil
}

// askedFor returns an error if a node port that a Service asks for is taken. On a create, this error comes before the
// error that the Service's name is taken.
func (n *numbers) askedFor(before, after client.Object) error {
	now, is := after.(*corev1.Service)
	if !is {
		return nil
	}
	had := nodePortsOf(before)
	asked := map[int32]int32{} // node port to the port that asks for it
	for i := range now.Spec.Ports {
		number, path := now.Spec.Ports[i].NodePort, field.NewPath("spec", "ports").Index(i).Child("nodePort")
		switch {
		case number == 0 || had[number]:
		case number < firstNodePort || number > lastNodePort:
			words := fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort,
				lastNodePort)
			return invalid(now, field.ErrorList{field.Invalid(path, number, words)})
		case n.nodePorts[number] > 0, before == nil && asked[number] != 0 && asked[number] != now.Spec.Ports[i].Port:
			return invalid(now, field.ErrorList{field.Invalid(path, number, "provided port is already allocated")})
		}
		asked[number] = now.Spec.Ports[i].Port
	}
	return nil
}

// fill allocates node ports. TCP and UDP of a port share one number if a created Service has both.
func (n *numbers) fill(svc *corev1.Service, fresh bool) error {
	if !takesNodePorts(svc) {
		return nil
	}
	of := map[int32]int32{}
	taken := map[string]bool{}
	for i := range svc.Spec.Ports {
		if p := &svc.Spec.Ports[i]; p.NodePort != 0 {
			of[p.Port] = p.NodePort
			taken[fmt.Sprint(p.NodePort, p.Protocol)] = true
		}
	}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if p.NodePort != 0 {
			continue
		}
		if number := of[p.Port]; fresh && number != 0 && !taken[fmt.Sprint(number, p.Protocol)] {
			p.NodePort = number
		} else if p.NodePort = n.free(); p.NodePort == 0 {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: range is full"))
		}
		of[p.Port] = p.NodePort
		taken[fmt.Sprint(p.NodePort, p.Protocol)] = true
	}
	return nil
}

// twice returns an error if a Service uses a node port twice for one protocol. An update reports this before any other
// error.
func twice(obj client.Object) error {
	svc, is := obj.(*corev1.Service)
	if !is || svc.Spec.Type != corev1.ServiceTypeNodePort && svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	seen := map[string]bool{}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		words := fmt.Sprintf("duplicate nodePort: {%s %d}", p.Protocol, p.NodePort)
		if p.NodePort != 0 && seen[words] {
			return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
				Code: http.StatusInternalServerError, Message: words}}
		}
		seen[words] = true
	}
	return nil
}

func (n *numbers) free() int32 {
	for range lastNodePort - firstNodePort + 1 {
		number := n.next
		if n.next++; n.next > lastNodePort {
			n.next = firstNodePort
		}
		if n.nodePorts[number] == 0 {
			return number
		}
	}
	return 0
}

func (n *numbers) release(obj client.Object) {
	for number := range nodePortsOf(obj) {
		delete(n.nodePorts, number)
	}
}

// nodePortsOf returns no ports for objects other than Services.
func nodePortsOf(obj client.Object) map[int32]bool {
	numbers := map[int32]bool{}
	svc, is := obj.(*corev1.Service)
	if !is || svc == nil {
		return numbers
	}
	for i := range svc.Spec.Ports {
		if number := svc.Spec.Ports[i].NodePort; number != 0 {
			numbers[number] = true
		}
	}
	return numbers
}

// needsNodePorts returns whether a Service's type may have node ports. takesNodePorts returns whether the Service gets
// some.
func needsNodePorts(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeNodePort || takesNodePorts(svc)
}

func takesNodePorts(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeNodePort || svc.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		(svc.Spec.AllocateLoadBalancerNodePorts == nil || *svc.Spec.AllocateLoadBalancerNodePorts)
}
