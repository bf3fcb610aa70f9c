package api

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The range of node ports.
const (
	firstNodePort = 30000
	lastNodePort  = 32767
)

// numbers are what Services get from a common stock.
type numbers struct {
	nodePorts map[int32]int // how many uses: TCP and UDP of one Service may share one
	next      int32
	addresses map[string]bool
	address   int
}

func newNumbers() numbers {
	return numbers{nodePorts: map[int32]int{}, next: firstNodePort, addresses: map[string]bool{}}
}

// allocate gives a Service what it needs, and takes back what it needs no more.
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
	had := map[int32]bool{}
	if was, is := before.(*corev1.Service); is && was != nil {
		had = nodePortsOf(was)
	}
	for i := range now.Spec.Ports {
		if number := now.Spec.Ports[i].NodePort; number != 0 && !had[number] && n.nodePorts[number] > 0 {
			path := field.NewPath("spec", "ports").Index(i).Child("nodePort")
			return invalid(now, field.ErrorList{field.Invalid(path, number, "provided port is already allocated")})
		}
	}
	if err := n.fill(now); err != nil {
		return err
	}
	has := nodePortsOf(now)
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

// fill gives node ports to the ports that want one. One number serves TCP and UDP of a port.
func (n *numbers) fill(svc *corev1.Service) error {
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
		if number := of[p.Port]; number != 0 && !taken[fmt.Sprint(number, p.Protocol)] {
			p.NodePort = number
		} else if p.NodePort = n.free(); p.NodePort == 0 {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: range is full"))
		}
		of[p.Port] = p.NodePort
		taken[fmt.Sprint(p.NodePort, p.Protocol)] = true
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
	if svc, is := obj.(*corev1.Service); is {
		for number := range nodePortsOf(svc) {
			delete(n.nodePorts, number)
		}
	}
}

func nodePortsOf(svc *corev1.Service) map[int32]bool {
	numbers := map[int32]bool{}
	for i := range svc.Spec.Ports {
		if number := svc.Spec.Ports[i].NodePort; number != 0 {
			numbers[number] = true
		}
	}
	return numbers
}

// needsNodePorts is true for the types that may have node ports, takesNodePorts for Services that are given some.
func needsNodePorts(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeNodePort || takesNodePorts(svc)
}

func takesNodePorts(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeNodePort || svc.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		(svc.Spec.AllocateLoadBalancerNodePorts == nil || *svc.Spec.AllocateLoadBalancerNodePorts)
}
