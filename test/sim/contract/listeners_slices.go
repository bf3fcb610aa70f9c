package contract

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// listenerSources returns the slices of a listener's backends. Each has only the port to which the backend refers,
// under the listener's port name.
func (w *World) listenerSources(l *Listener) (list []*discoveryv1.EndpointSlice) {
	backends := w.backends(l)
	for i, b := range backends {
		for _, slice := range w.sources(b.service) {
			for _, port := range slice.Ports {
				if *port.Name != b.port || *port.Protocol != l.Protocol {
					continue
				}
				source, name := slice.DeepCopy(), l.portName()
				port.Name = &name
				source.Name, source.Ports = b.sourceName(backends[:i], l, slice.Name), []discoveryv1.EndpointPort{port}
				list = append(list, source)
				break
			}
		}
	}
	return list
}

// sourceName is the name of a source in the label of the slice that carries it. It distinguishes namespaces, and two
// ports of one Service.
func (b *backend) sourceName(before []backend, l *Listener, slice string) string {
	name := slice
	if b.service.Namespace != l.Key.Namespace {
		name = b.service.Namespace + "." + name
	}
	if slices.ContainsFunc(before, func(other backend) bool { return other.service == b.service }) {
		name += "." + b.port
	}
	return name
}
