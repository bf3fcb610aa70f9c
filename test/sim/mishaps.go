package sim

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// drift lets others change an object that the reconciler manages.
func (w *world) drift() string {
	switch w.rng.IntN(4) {
	case 0:
		return w.driftMux()
	case 1:
		return w.driftChannel()
	}
	return w.driftSlice()
}

func (w *world) driftMux() string {
	key := pick(w.Sim, w.muxes()...)
	svc := w.service(key)
	if svc == nil || len(svc.Spec.Ports) == 0 {
		return ""
	}
	i := w.rng.IntN(len(svc.Spec.Ports))
	port := &svc.Spec.Ports[i]
	what := pick(w.Sim, "removes", "renames", "moves", "adds", "notes")
	name := port.Name
	switch what {
	case "removes":
		svc.Spec.Ports = slices.Delete(svc.Spec.Ports, i, i+1)
	case "renames":
		port.Name = fmt.Sprintf("mine-%d", w.server.Version())
	case "moves":
		port.Port = pick(w.Sim, int32(100), 203, 204, 999)
	case "adds":
		svc.Spec.Ports = append(svc.Spec.Ports,
			corev1.ServicePort{Name: fmt.Sprintf("own-%d", w.server.Version()), Port: pick(w.Sim, int32(104), 205, 7000)})
	case "notes":
		annotate(svc, w.key("summary"), "all is well")
		annotate(svc, w.key("generation"), pick(w.Sim, svc.Annotations[w.key("generation")], ""))
	}
	return fmt.Sprintf("somebody %s %s on mux %s%s", what, name, key, w.put(svc, false))
}

func (w *world) driftChannel() string {
	var channels []types.NamespacedName
	for _, key := range w.server.Keys(api.Services) {
		if svc := w.service(key); w.language.Classify(svc).Channel() {
			channels = append(channels, key)
		}
	}
	if len(channels) == 0 {
		return ""
	}
	svc := w.service(pick(w.Sim, channels...))
	svc.Status.LoadBalancer.Ingress = nil
	svc.Status.Conditions = nil
	if w.chance(30) {
		annotate(svc, w.key("ports"), "x:100->"+pick(w.Sim, "203", "204", "102"))
	}
	w.put(svc, true)
	return fmt.Sprintf("somebody wipes the status of %s/%s", svc.Namespace, svc.Name)
}

func (w *world) driftSlice() string {
	var ours []types.NamespacedName
	for _, key := range w.server.Keys(api.EndpointSlices) {
		if slice := w.server.Peek(api.EndpointSlices,
			key).(*discoveryv1.EndpointSlice); project.IsOurSlice(w.language.Keys(), slice) {
			ours = append(ours, key)
		}
	}
	if len(ours) == 0 {
		return ""
	}
	key := pick(w.Sim, ours...)
	slice := w.server.Peek(api.EndpointSlices, key).(*discoveryv1.EndpointSlice).DeepCopy()
	what := pick(w.Sim, "deletes", "empties", "strips", "repoints")
	switch what {
	case "deletes":
		w.drop(api.EndpointSlices, key)
	case "empties":
		slice.Endpoints = nil
		w.put(slice, false)
	case "strips":
		slice.Labels = map[string]string{"app": "mine"}
		w.put(slice, false)
	case "repoints":
		for i := range slice.Ports {
			slice.Ports[i].Port = ptr.To(int32(9))
		}
		w.put(slice, false)
	}
	return fmt.Sprintf("somebody %s slice %s", what, key)
}

// ledgers returns the ConfigMaps that a mux annotation marks as ledgers.
func (w *world) ledgers() []types.NamespacedName {
	var keys []types.NamespacedName
	for _, key := range w.server.Keys(api.ConfigMaps) {
		if w.server.Peek(api.ConfigMaps, key).GetAnnotations()[w.language.Keys().Mux] != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// ledgerDeed lets others change, lose or restore a ledger.
func (w *world) ledgerDeed() string {
	keys := w.ledgers()
	if len(keys) == 0 {
		return ""
	}
	key := pick(w.Sim, keys...)
	cm := w.server.Peek(api.ConfigMaps, key).(*corev1.ConfigMap).DeepCopy()
	deeds := []string{"loses", "breaks", "empties", "unlabels", "saves", "restores"}
	if w.Seed >= Edited {
		deeds = append(deeds, "edits", "edits", "makes newer", "makes another's")
	}
	deed := pick(w.Sim, deeds...)
	w.point("ledger: " + deed)
	switch deed {
	case "loses":
		w.drop(api.ConfigMaps, key)
		return fmt.Sprintf("somebody loses ledger %s", key)
	case "breaks":
		cm.Data = map[string]string{record.PlainKey: "{"}
	case "empties":
		cm.Data = nil
	case "edits", "makes newer", "makes another's":
		if !w.tamper(cm, deed) {
			return ""
		}
	case "unlabels":
		cm.Labels = nil
	case "saves":
		w.saved[key] = cm
		return fmt.Sprintf("somebody saves ledger %s", key)
	case "restores":
		if w.saved[key] == nil {
			return ""
		}
		cm = w.saved[key].DeepCopy()
		cm.UID = ""
	}
	return fmt.Sprintf("somebody %s ledger %s%s", deed, key, w.put(cm, false))
}

// Edited is the first seed whose histories have users who edit ledgers. They have everything of Bounded histories, too.
const Edited = 3_000_000_000

// tamper changes the text of a ledger but not its checksum. It returns false if there is nothing to change. It doesn't
// change the owner of a claim: the reconciler obeys a user who assigns a claim to another channel.
func (w *world) tamper(cm *corev1.ConfigMap, deed string) bool {
	var text map[string]any
	if json.Unmarshal([]byte(cm.Data[record.PlainKey]), &text) != nil {
		return false
	}
	claims, _ := text["portClaims"].([]any)
	switch {
	case deed == "makes newer":
		text["schemaVersion"] = 3
	case deed == "makes another's":
		text["mux"] = map[string]any{"namespace": "svc-mux", "name": "nobodys"}
	case len(claims) == 0:
		return false
	case w.chance(50):
		at := w.rng.IntN(len(claims))
		text["portClaims"] = slices.Delete(claims, at, at+1)
	default:
		claim, number := claims[w.rng.IntN(len(claims))].(map[string]any), 203+w.rng.IntN(3)
		claim["port"], claim["muxPort"] = number, number
	}
	changed, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	cm.Data = map[string]string{record.PlainKey: string(changed)}
	return true
}

// mend undoes everything that prevents the cluster from coming to rest.
func (w *world) mend() string {
	w.admission.down = false
	if w.hasGateways() {
		w.mendGateways()
	}
	for _, key := range w.badLedgers() {
		w.drop(api.ConfigMaps, key) // the remedy that our messages suggest
	}
	for _, key := range w.muxes() {
		svc := w.service(key)
		if svc == nil {
			continue
		}
		svc.Spec.Selector = nil
		if svc.Annotations[w.key("port-range")] == "203-" {
			annotate(svc, w.key("port-range"), "203-207")
		}
		annotate(svc, w.key("disabled"), "")
		w.put(svc, false)
	}
	return "all is mended"
}

// badLedgers returns the ledgers that need a person's intervention.
func (w *world) badLedgers() []types.NamespacedName {
	return slices.DeleteFunc(w.ledgers(), func(key types.NamespacedName) bool {
		cm := w.server.Peek(api.ConfigMaps, key).(*corev1.ConfigMap)
		mux, _ := w.owned(cm)
		reading := record.Decode(cm, mux, w.language.Keys())
		stale := w.promises.stamp(mux) > reading.Ledger.Generation
		return reading.Condition <= plan.Missing && cm.Labels != nil && !stale
	})
}

// owned returns the mux that a ledger's annotation names.
func (w *world) owned(cm *corev1.ConfigMap) (types.NamespacedName, bool) {
	for _, key := range w.muxes() {
		if cm.Annotations[w.language.Keys().Mux] == key.String() {
			return key, true
		}
	}
	return types.NamespacedName{}, false
}
