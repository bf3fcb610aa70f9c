package api

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func completeService(svc *corev1.Service) {
	spec := &svc.Spec
	if spec.SessionAffinity == "" {
		spec.SessionAffinity = corev1.ServiceAffinityNone
	}
	if spec.Type == "" {
		spec.Type = corev1.ServiceTypeClusterIP
	}
	for i := range spec.Ports {
		port := &spec.Ports[i]
		if port.Protocol == "" {
			port.Protocol = corev1.ProtocolTCP
		}
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	if isReached(svc) && spec.ExternalTrafficPolicy == "" {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if spec.InternalTrafficPolicy == nil && spec.Type != corev1.ServiceTypeExternalName {
		spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyCluster)
	}
	if spec.Type != corev1.ServiceTypeLoadBalancer {
		completeFamilies(svc)
		return
	}
	if spec.AllocateLoadBalancerNodePorts == nil {
		spec.AllocateLoadBalancerNodePorts = ptr.To(true)
	}
	for i := range svc.Status.LoadBalancer.Ingress {
		if ingress := &svc.Status.LoadBalancer.Ingress[i]; ingress.IP != "" && ingress.IPMode == nil {
			ingress.IPMode = ptr.To(corev1.LoadBalancerIPModeVIP)
		}
	}
	completeFamilies(svc)
}

func completeFamilies(svc *corev1.Service) {
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	if svc.Spec.IPFamilyPolicy == nil {
		svc.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack)
	}
	if len(svc.Spec.IPFamilies) == 0 {
		svc.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
}

func isReached(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeLoadBalancer || svc.Spec.Type == corev1.ServiceTypeNodePort ||
		svc.Spec.Type == corev1.ServiceTypeClusterIP && len(svc.Spec.ExternalIPs) > 0
}

// keepAllocated restores allocated fields that a client left out because it doesn't know them. It matches node ports by
// the port's name.
func keepAllocated(was, now *corev1.Service) {
	if now.Spec.Type != corev1.ServiceTypeExternalName && was.Spec.Type != corev1.ServiceTypeExternalName {
		if now.Spec.ClusterIP == "" {
			now.Spec.ClusterIP = was.Spec.ClusterIP
		}
		if len(now.Spec.ClusterIPs) == 0 {
			now.Spec.ClusterIPs = was.Spec.ClusterIPs
		}
	}
	if !takesNodePorts(was) || !takesNodePorts(now) {
		return
	}
	stay := nodePortsOf(now)
	had := nodePortsOf(was)
	byName := map[string]int32{}
	for i := range was.Spec.Ports {
		byName[was.Spec.Ports[i].Name] = was.Spec.Ports[i].NodePort
	}
	for i := range now.Spec.Ports {
		if port := &now.Spec.Ports[i]; port.NodePort == 0 {
			if number := byName[port.Name]; !stay[number] || !had[number] {
				port.NodePort = number
			}
		}
	}
}

// dropForType removes fields that a Service of the new type can't have, if the client didn't change them.
func dropForType(was, now *corev1.Service) {
	if needsNodePorts(was) && now.Spec.Type == corev1.ServiceTypeClusterIP &&
		fmt.Sprint(nodePortsOf(was)) == fmt.Sprint(nodePortsOf(now)) {
		for i := range now.Spec.Ports {
			now.Spec.Ports[i].NodePort = 0
		}
	}
	leaves := was.Spec.Type == corev1.ServiceTypeLoadBalancer && now.Spec.Type != corev1.ServiceTypeLoadBalancer
	if leaves && ptr.Equal(was.Spec.AllocateLoadBalancerNodePorts, now.Spec.AllocateLoadBalancerNodePorts) {
		now.Spec.AllocateLoadBalancerNodePorts = nil
	}
	if leaves && ptr.Equal(was.Spec.LoadBalancerClass, now.Spec.LoadBalancerClass) {
		now.Spec.LoadBalancerClass = nil
	}
	if isReached(was) && !isReached(now) && was.Spec.ExternalTrafficPolicy == now.Spec.ExternalTrafficPolicy {
		now.Spec.ExternalTrafficPolicy = ""
	}
	if now.Spec.Type != corev1.ServiceTypeLoadBalancer {
		now.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
}

func validateService(now, was *corev1.Service) field.ErrorList {
	spec := field.NewPath("spec")
	problems := validatePorts(now, spec.Child("ports"))
	isLB := now.Spec.Type == corev1.ServiceTypeLoadBalancer
	class := spec.Child("loadBalancerClass")
	switch {
	case !isLB && now.Spec.LoadBalancerClass != nil:
		problems = append(problems, field.Forbidden(class, "may only be used when `type` is 'LoadBalancer'"))
	case isLB && was != nil && was.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		!ptr.Equal(was.Spec.LoadBalancerClass, now.Spec.LoadBalancerClass):
		problems = append(problems, field.Invalid(class, now.Spec.LoadBalancerClass, "may not change once set"))
	case isLB && now.Spec.LoadBalancerClass != nil:
		for _, words := range validation.IsQualifiedName(*now.Spec.LoadBalancerClass) {
			problems = append(problems, field.Invalid(class, *now.Spec.LoadBalancerClass, words))
		}
	}
	if !isLB && now.Spec.AllocateLoadBalancerNodePorts != nil {
		problems = append(problems, field.Forbidden(spec.Child("allocateLoadBalancerNodePorts"),
			"may only be used when `type` is 'LoadBalancer'"))
	}
	return append(problems, validateAddress(now)...)
}

func validatePorts(svc *corev1.Service, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if len(svc.Spec.Ports) == 0 && svc.Spec.ClusterIP != corev1.ClusterIPNone &&
		svc.Spec.Type != corev1.ServiceTypeExternalName {
		problems = append(problems, field.Required(path, ""))
	}
	seen := map[string]bool{}
	once := func(what string, path *field.Path, value any) {
		if seen[what] {
			problems = append(problems, field.Duplicate(path, value))
		}
		seen[what] = true
	}
	for i := range svc.Spec.Ports {
		port, at := &svc.Spec.Ports[i], path.Index(i)
		switch {
		case port.Name == "" && len(svc.Spec.Ports) > 1:
			problems = append(problems, field.Required(at.Child("name"), ""))
		case port.Name != "":
			once("name "+port.Name, at.Child("name"), port.Name)
			for _, words := range labelProblems(port.Name) {
				problems = append(problems, field.Invalid(at.Child("name"), port.Name, words))
			}
		}
		for _, words := range validation.IsValidPortNum(int(port.Port)) {
			problems = append(problems, field.Invalid(at.Child("port"), port.Port, words))
		}
		problems = append(problems, validateProtocol(port.Protocol, at.Child("protocol"))...)
		once(fmt.Sprint("port ", port.Protocol, port.Port), at, port)
		if port.NodePort != 0 {
			if !needsNodePorts(svc) && svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
				problems = append(problems, field.Forbidden(at.Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
			}
			once(fmt.Sprint("node port ", port.Protocol, port.NodePort), at.Child("nodePort"), port.NodePort)
			if port.NodePort < firstNodePort || port.NodePort > lastNodePort {
				problems = append(problems, field.Invalid(at.Child("nodePort"), port.NodePort,
					"provided port is not in the valid range. The range of valid ports is 30000-32767"))
			}
		}
	}
	return problems
}

func validateProtocol(protocol corev1.Protocol, path *field.Path) field.ErrorList {
	switch protocol {
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		return nil
	}
	return field.ErrorList{field.NotSupported(path, protocol, []string{"SCTP", "TCP", "UDP"})}
}

func validateAddress(svc *corev1.Service) field.ErrorList {
	var problems field.ErrorList
	path := field.NewPath("status", "loadBalancer", "ingress")
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer && len(svc.Status.LoadBalancer.Ingress) > 0 {
		return append(problems, field.Forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'"))
	}
	for i := range svc.Status.LoadBalancer.Ingress {
		ingress := &svc.Status.LoadBalancer.Ingress[i]
		if _, err := netip.ParseAddr(ingress.IP); ingress.IP != "" && err != nil {
			problems = append(problems, field.Invalid(path.Index(i).Child("ip"), ingress.IP, "must be a valid IP address"))
		}
		if ingress.IP != "" && ingress.IPMode == nil {
			problems = append(problems, field.Required(path.Index(i).Child("ipMode"), "must be specified when `ip` is set"))
		}
		if ingress.IP == "" && ingress.IPMode != nil {
			problems = append(problems, field.Forbidden(path.Index(i).Child("ipMode"),
				"may not be specified when `ip` is not set"))
		}
	}
	return problems
}
