package validation

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// checkPorts checks that every port has a name, and, for files that no API server has checked, the API server's own
// rules. It returns the index of each name.
func checkPorts(svc *corev1.Service, what Kind, found *Findings) map[string]int {
	all := svc.Spec.Ports
	if len(all) == 0 {
		found.problem(InvalidPort, "spec.ports", "", "", textNoPorts(what))
	}
	limit := len(found.Problems) + maxProblems
	index := make(map[string]int, len(all))
	for i := range all {
		port := &all[i]
		names := len(index)
		if port.Name != "" {
			index[port.Name] = i
		}
		if len(found.Problems) < limit {
			checkPort(i, port, port.Name != "" && len(index) == names, found)
		}
	}
	if len(found.Problems) >= limit {
		found.problem(InvalidPort, "spec.ports", "", strconv.Itoa(len(all)), "spec.ports: "+textTooMany())
	}
	return index
}

func checkPort(i int, port *corev1.ServicePort, twice bool, found *Findings) {
	if port.Name == "" {
		invalidPort(found, i, "name", port, textUnnamedPort(portAndProtocol(port.Port, protocolOf(port))))
	}
	if twice {
		invalidPort(found, i, "name", port, textSamePortName(port.Name))
	}
	if port.Port < MinPort || port.Port > MaxPort {
		invalidPort(found, i, "port", port, textPortNumber(port.Port))
	}
	if protocol(protocolOf(port)) == 0 {
		invalidPort(found, i, "protocol", port, textPortProtocol(string(port.Protocol)))
	}
}

// invalidPort adds a problem whose value is number and protocol. So an unnamed port at another place in the list is the
// same problem to the ratchet.
func invalidPort(found *Findings, i int, child string, port *corev1.ServicePort, text string) {
	path := portField(i, child)
	found.problem(InvalidPort, path, port.Name, portAndProtocol(port.Port, protocolOf(port)), path+": "+text)
}
