package contract

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// Frozen compares a cluster whose muxes are frozen with the same cluster at the freeze. Ports and ledgers must be
// unchanged. Addresses and backends must follow mux and sources, for every channel whose owner didn't change it
// meanwhile.
func (w *World) Frozen(before *World) string {
	after := *w
	after.Slices = maps.Clone(w.Slices)
	maps.DeleteFunc(after.Slices, func(_ types.NamespacedName, slice *discoveryv1.EndpointSlice) bool {
		channel, carries := w.carriedChannel(slice)
		return carries && (!w.isUnchanged(before, channel) || !w.isOlderMux(before,
			types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}))
	})
	served := map[types.NamespacedName]*mux{}
	for _, key := range keysOf(before.Services) {
		was, is := before.Services[key], w.Services[key]
		if is == nil || !before.isMux(was) {
			continue
		}
		m, wrong := before.read(key, was)
		ledger := types.NamespacedName{Namespace: key.Namespace, Name: m.Ledger}
		switch {
		case wrong != "":
			return wrong
		case !w.isOlderMux(before, key):
			continue
		case !equality.Semantic.DeepEqual(was.Spec.Ports, is.Spec.Ports):
			return fmt.Sprintf("frozen: ports of %s were %v, and are %v", key, was.Spec.Ports, is.Spec.Ports)
		case !equality.Semantic.DeepEqual(before.ConfigMaps[ledger], w.ConfigMaps[ledger]):
			return fmt.Sprintf("frozen: ledger %s is written", ledger)
		}
		m.World, m.service = &after, is
		if wrong := m.checkUnchanged(before); wrong != "" {
			return "frozen: " + wrong
		}
		served[key] = m
	}
	return after.checkSlices(served)
}

// isOlderMux returns whether a mux wasn't created after the freeze: the mux of a new Gateway isn't frozen.
func (w *World) isOlderMux(before *World, key types.NamespacedName) bool {
	was, is := before.Services[key], w.Services[key]
	return is == nil || was != nil && was.UID == is.UID
}

// checkUnchanged compares address and annotation of the channels that their owners didn't change.
func (m *mux) checkUnchanged(before *World) string {
	maps.DeleteFunc(m.channels, func(key types.NamespacedName, _ *channel) bool { return !m.isUnchanged(before, key) })
	for _, key := range keysOf(m.channels) {
		c := m.channels[key]
		if c.listener != nil {
			continue // the status of the listener's Gateway isn't compared here
		}
		c.service = m.Services[key]
		var address []corev1.LoadBalancerIngress
		if len(c.claims) > 0 && !c.Disabled {
			address = m.service.Status.LoadBalancer.Ingress
		}
		wrong := checkAddress(c.service, address)
		if wrong == "" {
			wrong = c.checkNote(c.service.Annotations[m.Language.Keys().Ports])
		}
		if wrong != "" {
			return fmt.Sprintf("%s (%s)", wrong, key)
		}
	}
	return ""
}

// isUnchanged returns whether a Service asks for the same as before.
func (w *World) isUnchanged(before *World, key types.NamespacedName) bool {
	if was := before.Listeners()[key]; was != nil {
		is := w.Listeners()[key]
		return is != nil && was.Asks && is.Asks && was.Owner.GetUID() == is.Owner.GetUID() && was.Mux == is.Mux &&
			was.Port == is.Port && was.Protocol == is.Protocol
	}
	was, is := before.Services[key], w.Services[key]
	if was == nil || is == nil || was.UID != is.UID || was.DeletionTimestamp != nil || is.DeletionTimestamp != nil {
		return false
	}
	keys := w.Language.Keys()
	return equality.Semantic.DeepEqual(was.Spec, is.Spec) &&
		was.Annotations[keys.ExternalPorts] == is.Annotations[keys.ExternalPorts] &&
		was.Annotations[keys.Disabled] == is.Annotations[keys.Disabled]
}

// carriedChannel returns the channel that a slice on a mux carries, or false if it carries none.
func (w *World) carriedChannel(slice *discoveryv1.EndpointSlice) (types.NamespacedName, bool) {
	keys := w.Language.Keys()
	name := types.NamespacedName{Namespace: slice.Labels[keys.ChannelNamespace],
		Name: strings.ReplaceAll(slice.Labels[keys.ChannelName], "_", "/")}
	return name, name.Name != ""
}
