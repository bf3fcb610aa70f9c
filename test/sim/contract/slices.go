package contract

import (
	"fmt"
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// carrying identifies a slice on a mux that carries a source slice of a channel.
type carrying struct {
	mux, channel types.NamespacedName
	source       string
}

// checkSlices compares the slices of a mux, which data planes follow, with the sources of its channels.
func (w *World) checkSlices(served map[types.NamespacedName]*mux) string {
	found := map[carrying]types.NamespacedName{}
	for _, key := range keysOf(w.Slices) {
		slice := w.Slices[key]
		of := types.NamespacedName{Namespace: key.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		m := served[of]
		if svc := w.Services[of]; m == nil && (svc == nil || !w.Language.Classify(svc).Mux()) {
			continue // a channel's own slice
		}
		at, wrong := w.checkSlice(m, of, slice)
		if wrong != "" {
			return fmt.Sprintf("slices: %s %s", key, wrong)
		}
		if twice, is := found[at]; is {
			return fmt.Sprintf("slices: %s and %s carry the same source", key, twice)
		}
		found[at] = key
	}
	for _, key := range keysOf(served) {
		for _, name := range keysOf(served[key].channels) {
			c := served[key].channels[name]
			for _, source := range w.sourcesOf(c) {
				_, is := found[carrying{key, name, source.Name}]
				if !is && len(served[key].carried(c, source)) > 0 {
					return fmt.Sprintf("slices: nothing on %s carries %s of %s", key, source.Name, name)
				}
			}
		}
	}
	return ""
}

// checkSlice compares a slice on a mux with its source.
func (w *World) checkSlice(m *mux, of types.NamespacedName, slice *discoveryv1.EndpointSlice) (carrying, string) {
	name, _ := w.carriedChannel(slice)
	at := carrying{of, name, slice.Labels[w.Language.Keys().Source]}
	source := w.sourceOf(m, name, at.source)
	switch {
	case m == nil:
		return at, "is there, and the mux isn't served"
	case m.channels[name] == nil:
		return at, fmt.Sprintf("carries %s, which isn't a channel of the mux", name)
	case source == nil:
		return at, fmt.Sprintf("carries %q, which isn't a slice of %s", at.source, name)
	case len(slice.OwnerReferences) != 1 || slice.OwnerReferences[0].UID != m.UID:
		return at, "isn't owned by the mux"
	case source.AddressType != slice.AddressType || !equality.Semantic.DeepEqual(source.Endpoints, slice.Endpoints):
		return at, fmt.Sprintf("has other endpoints than %s", at.source)
	}
	ports := map[string]slot{}
	for _, port := range slice.Ports {
		ports[*port.Name] = slot{*port.Port, *port.Protocol}
	}
	want := m.carried(m.channels[name], source)
	maps.Copy(want, m.kept(m.channels[name], source, ports))
	if len(want) == 0 || !maps.Equal(ports, want) {
		return at, fmt.Sprintf("has ports %v, and must have %v", ports, want)
	}
	return at, ""
}

// sourceOf returns the slice of a channel, or of a listener's backends, with that name; nil if there is none.
func (w *World) sourceOf(m *mux, name types.NamespacedName, source string) *discoveryv1.EndpointSlice {
	if m == nil || m.channels[name] == nil {
		return nil
	}
	for _, slice := range w.sourcesOf(m.channels[name]) {
		if slice.Name == source {
			return slice
		}
	}
	return nil
}

func (w *World) sourcesOf(c *channel) []*discoveryv1.EndpointSlice {
	if c.listener == nil {
		return w.sources(c.Key)
	}
	return w.listenerSources(w.Listeners()[c.Key])
}

// sources returns a Service's own slices.
func (w *World) sources(service types.NamespacedName) []*discoveryv1.EndpointSlice {
	var list []*discoveryv1.EndpointSlice
	for _, key := range keysOf(w.Slices) {
		if key.Namespace == service.Namespace && w.Slices[key].Labels[discoveryv1.LabelServiceName] == service.Name {
			list = append(list, w.Slices[key])
		}
	}
	return list
}

// carried returns the source's ports that have a claim on the mux, by their names on the mux.
func (m *mux) carried(c *channel, source *discoveryv1.EndpointSlice) map[string]slot {
	ports := map[string]slot{}
	for i := range c.claims {
		claim := &c.claims[i]
		for _, port := range source.Ports {
			if m.publishes(claim) && isOf(claim, port) {
				ports[claim.name] = slot{*port.Port, *port.Protocol}
			}
		}
	}
	return ports
}

// kept returns the ports that our slice keeps during a rename: the source lacks the claim's new name, and still has the
// backends' number under a name without a claim.
func (m *mux) kept(c *channel, source *discoveryv1.EndpointSlice, ours map[string]slot) map[string]slot {
	kept := map[string]slot{}
	for i := range c.claims {
		claim := &c.claims[i]
		number, is := ours[claim.name]
		if !is || !m.publishes(claim) || lists(source, claim) {
			continue
		}
		if slices.ContainsFunc(source.Ports, func(port discoveryv1.EndpointPort) bool {
			return slot{*port.Port, *port.Protocol} == number && number.protocol == claim.slot.protocol && !c.hasClaim(port)
		}) {
			kept[claim.name] = number
		}
	}
	return kept
}

// lists returns whether a source has a port with the claim's name.
func lists(source *discoveryv1.EndpointSlice, claim *claim) bool {
	return slices.ContainsFunc(source.Ports, func(port discoveryv1.EndpointPort) bool { return isOf(claim, port) })
}

// isOf returns whether a source's port is the claim's port.
func isOf(claim *claim, port discoveryv1.EndpointPort) bool {
	return claim.port == *port.Name && claim.slot.protocol == *port.Protocol
}

// hasClaim returns whether the source's port has a claim under its own name.
func (c *channel) hasClaim(port discoveryv1.EndpointPort) bool {
	return slices.ContainsFunc(c.claims, func(of claim) bool { return isOf(&of, port) })
}

// hasReady returns whether a slice on the mux carries a ready endpoint of the channel.
func (w *World) hasReady(mux, channel types.NamespacedName) bool {
	for _, slice := range w.Slices {
		of, _ := w.carriedChannel(slice)
		onMux := slice.Labels[discoveryv1.LabelServiceName] == mux.Name && slice.Namespace == mux.Namespace
		if onMux && of == channel && slices.ContainsFunc(slice.Endpoints, isReady) {
			return true
		}
	}
	return false
}

func isReady(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }
