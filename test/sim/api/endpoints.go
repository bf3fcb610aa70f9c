package api

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

//nolint:staticcheck // deprecated, and read still
func completeEndpoints(ep *corev1.Endpoints) {
	for i := range ep.Subsets {
		for j := range ep.Subsets[i].Ports {
			if port := &ep.Subsets[i].Ports[j]; port.Protocol == "" {
				port.Protocol = corev1.ProtocolTCP
			}
		}
	}
}

// validateEndpoints accepts faults that the object had before: rules became stricter over time.
//
//nolint:staticcheck // deprecated, and read still
func validateEndpoints(now, was *corev1.Endpoints) field.ErrorList {
	if was != nil && equality.Semantic.DeepEqual(was.Subsets, now.Subsets) {
		return nil
	}
	var problems field.ErrorList
	for i := range now.Subsets {
		problems = append(problems, validateSubset(&now.Subsets[i], field.NewPath("subsets").Index(i))...)
	}
	return problems
}

//nolint:staticcheck // deprecated, and read still
func validateSubset(subset *corev1.EndpointSubset, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if len(subset.Addresses)+len(subset.NotReadyAddresses) == 0 {
		problems = append(problems, field.Required(path, "must specify `addresses` or `notReadyAddresses`"))
	}
	for i := range subset.Addresses {
		problems = append(problems, validateSubsetAddress(&subset.Addresses[i], path.Child("addresses").Index(i))...)
	}
	for i := range subset.NotReadyAddresses {
		problems = append(problems,
			validateSubsetAddress(&subset.NotReadyAddresses[i], path.Child("notReadyAddresses").Index(i))...)
	}
	for i := range subset.Ports {
		problems = append(problems,
			validateSubsetPort(&subset.Ports[i], len(subset.Ports) > 1, path.Child("ports").Index(i))...)
	}
	return problems
}

func validateSubsetAddress(address *corev1.EndpointAddress, path *field.Path) field.ErrorList {
	problems := validateEndpointIP(address.IP, path.Child("ip"))
	for _, words := range labelProblems(address.Hostname) {
		problems = append(problems, field.Invalid(path.Child("hostname"), address.Hostname, words))
	}
	if address.NodeName != nil {
		for _, words := range validation.IsDNS1123Subdomain(*address.NodeName) {
			problems = append(problems, field.Invalid(path.Child("nodeName"), *address.NodeName, words))
		}
	}
	return problems
}

func validateSubsetPort(port *corev1.EndpointPort, named bool, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if port.Name == "" && named {
		problems = append(problems, field.Required(path.Child("name"), ""))
	}
	for _, words := range labelProblems(port.Name) {
		problems = append(problems, field.Invalid(path.Child("name"), port.Name, words))
	}
	for _, words := range validation.IsValidPortNum(int(port.Port)) {
		problems = append(problems, field.Invalid(path.Child("port"), port.Port, words))
	}
	problems = append(problems, validateProtocol(port.Protocol, path.Child("protocol"))...)
	if port.AppProtocol != nil {
		for _, words := range validation.IsQualifiedName(*port.AppProtocol) {
			problems = append(problems, field.Invalid(path.Child("appProtocol"), *port.AppProtocol, words))
		}
	}
	return problems
}

// validateEndpointIP refuses addresses that other nodes can't reach.
func validateEndpointIP(text string, path *field.Path) field.ErrorList {
	ip, err := netip.ParseAddr(text)
	switch {
	case err != nil || ip.Zone() != "":
		return field.ErrorList{field.Invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")}
	case ip.Is4In6():
		return field.ErrorList{field.Invalid(path, text, "must not be an IPv4-mapped IPv6 address")}
	case ip.IsUnspecified():
		return field.ErrorList{field.Invalid(path, text, "may not be unspecified")}
	case ip.IsLoopback():
		return field.ErrorList{field.Invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")}
	case ip.IsLinkLocalUnicast():
		return field.ErrorList{field.Invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")}
	case ip.IsLinkLocalMulticast():
		return field.ErrorList{field.Invalid(path, text,
			"may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")}
	}
	return nil
}

func validateProtocol(protocol corev1.Protocol, path *field.Path) field.ErrorList {
	switch protocol {
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		return nil
	}
	return field.ErrorList{field.NotSupported(path, protocol, []string{"SCTP", "TCP", "UDP"})}
}
