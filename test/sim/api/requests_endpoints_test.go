package api_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

//nolint:staticcheck // deprecated, and read still
func (r *requests) endpoints() *corev1.Endpoints {
	ep := &corev1.Endpoints{ObjectMeta: r.meta()}
	for range r.IntN(3) {
		ep.Subsets = append(ep.Subsets, corev1.EndpointSubset{
			Addresses: r.addresses(), NotReadyAddresses: r.addresses(), Ports: r.endpointPorts(),
		})
	}
	return ep
}

func (r *requests) addresses() []corev1.EndpointAddress {
	var list []corev1.EndpointAddress
	for range r.IntN(3) {
		address := corev1.EndpointAddress{IP: pick(r, "10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:DB8:0::1")}
		if r.IntN(16) == 0 {
			address.IP = pick(r, "", "a", "010.0.0.1", "0.0.0.0", "127.0.0.1", "169.254.0.1", "224.0.0.1", "225.0.0.1",
				"::ffff:10.0.0.1", "fe80::1%a", "::")
		}
		if r.IntN(8) == 0 {
			address.Hostname = pick(r, "a", "b", "Bad")
			address.NodeName = pick(r, nil, ptr.To("node.a"), ptr.To("Bad"))
			address.TargetRef = pick(r, nil, &corev1.ObjectReference{Kind: "Pod", Namespace: "a", Name: "p"})
		}
		list = append(list, address)
	}
	return list
}

func (r *requests) endpointPorts() []corev1.EndpointPort {
	var list []corev1.EndpointPort
	for _, name := range []string{"a", "b"}[r.IntN(3):] {
		port := corev1.EndpointPort{Name: name, Port: pick[int32](r, 53, 80),
			Protocol: pick(r, "", corev1.ProtocolTCP, corev1.ProtocolUDP)}
		if r.IntN(12) == 0 {
			port.Name = pick(r, "", "", "Bad")
			port.Port = pick[int32](r, 80, 0, 70000)
			port.Protocol = pick(r, "", corev1.ProtocolSCTP, "X")
			port.AppProtocol = pick(r, nil, ptr.To("http"), ptr.To("example.com/a"), ptr.To("a/b/c"))
		}
		list = append(list, port)
	}
	return list
}
