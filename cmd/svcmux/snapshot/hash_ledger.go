package snapshot

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

// nameLedger notes the names that the ledgers of a mux get. The usual name contains the mux's.
func (h *hashing) nameLedger(svc *corev1.Service) {
	keys := h.language.Keys()
	ask := record.AskOf(plan.ReadMux(h.language, svc, false))
	wanted, old := ask.Names()
	hashed := h.name(wanted)
	if svc.Annotations[keys.AllocationConfigMap] == "" {
		plain := &corev1.Service{ObjectMeta: *svc.ObjectMeta.DeepCopy(), Spec: svc.Spec}
		plain.Namespace, plain.Name = h.name(svc.Namespace), h.name(svc.Name)
		delete(plain.Annotations, keys.Ledger)
		ask = record.AskOf(plan.ReadMux(h.language, plain, false))
		hashed, _ = ask.Names()
	}
	h.ledgers[types.NamespacedName{Namespace: svc.Namespace, Name: wanted}] = hashed
	if old != "" {
		h.ledgers[types.NamespacedName{Namespace: svc.Namespace, Name: old}] = h.name(old)
	}
}

// ledgerOf returns the name that a ledger of a mux in a namespace gets.
func (h *hashing) ledgerOf(namespace, name string) string {
	if hashed := h.ledgers[types.NamespacedName{Namespace: namespace, Name: name}]; hashed != "" {
		return hashed
	}
	return h.name(name)
}

// configMap hashes the names in a ledger, or in the services of ingress-nginx.
func (h *hashing) configMap(cm *corev1.ConfigMap) {
	key := types.NamespacedName{Namespace: cm.Namespace, Name: cm.Name}
	cm.Namespace = h.name(cm.Namespace)
	hashed, isLedger := h.ledgers[key]
	if !isLedger {
		for number, entry := range cm.Data {
			if namespace, rest, is := strings.Cut(entry, "/"); is {
				name, ports, _ := strings.Cut(rest, ":")
				cm.Data[number] = h.name(namespace) + "/" + h.name(name) + ":" + ports
			}
		}
		return
	}
	cm.Name = hashed
	h.ledger(cm)
}

// ledger hashes the names in a ledger. A ledger that can't be read gets other contents that can't be read.
func (h *hashing) ledger(cm *corev1.ConfigMap) {
	keys := h.language.Keys()
	namespace, name, _ := strings.Cut(cm.Annotations[keys.Mux], "/")
	mux := types.NamespacedName{Namespace: namespace, Name: name}
	read := record.ReadOf(cm, mux, keys)
	ledger := read.Ledger.Clone()
	ledger.Mux = h.key(mux)
	for i := range ledger.Claims {
		ledger.Claims[i].Owner.Channel = h.claimant(ledger.Claims[i].Owner.Channel)
	}
	ledger.Hostnames = nil
	contents, err := record.Encode(ledger, keys)
	if err != nil || read.Condition != plan.Good && read.Condition != plan.Edited {
		if cm.Annotations[keys.Mux] != "" {
			cm.Annotations = map[string]string{keys.Mux: ledger.Mux.String(), keys.Generation: cm.Annotations[keys.Generation]}
		}
		cm.Labels, cm.Data, cm.BinaryData = nil, map[string]string{record.PlainKey: "{"}, nil
		return
	}
	cm.Labels, cm.Annotations = contents.Labels, contents.Annotations
	cm.Data, cm.BinaryData = map[string]string{record.PlainKey: contents.Plain},
		map[string][]byte{record.PackedKey: contents.Packed}
}
