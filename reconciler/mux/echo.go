package mux

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// rememberWrite stores the API server's response, because the cache is behind. If nobody else changed the Service meanwhile,
// the informer's event for this write is an echo, and causes no pass.
func (l *Line) rememberWrite(before, now *corev1.Service) {
	l.trim(now)
	l.services.Put(now)
	if before == nil || inputsOf(before, l.Language.Keys()) != inputsOf(now, l.Language.Keys()) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.echoes[client.ObjectKeyFromObject(now)] = now.ResourceVersion
}

// asWritten is true if a channel's status has no other changes than those of the patch.
func asWritten(before, now *corev1.Service, patch *plan.ChannelPatch) bool {
	address := before.Status.LoadBalancer.Ingress
	if patch.SetAddress {
		address = patch.Address
	}
	if !equality.Semantic.DeepEqual(address, now.Status.LoadBalancer.Ingress) {
		return false
	}
	for i := range before.Status.Conditions {
		kind := before.Status.Conditions[i].Type
		is := meta.FindStatusCondition(now.Status.Conditions, kind)
		set := meta.FindStatusCondition(patch.Conditions, kind) != nil || slices.Contains(patch.Drop, kind)
		if !set && !equality.Semantic.DeepEqual(is, &before.Status.Conditions[i]) {
			return false
		}
	}
	return true
}

// isEcho is true once for each echo.
func (l *Line) isEcho(svc *corev1.Service) bool {
	key := client.ObjectKeyFromObject(svc)
	l.mu.Lock()
	defer l.mu.Unlock()
	version, known := l.echoes[key]
	if !known || version != svc.ResourceVersion {
		return false
	}
	delete(l.echoes, key)
	return true
}

// forgetEcho drops the expected echo of a deleted Service.
func (l *Line) forgetEcho(svc *corev1.Service) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.echoes, client.ObjectKeyFromObject(svc))
}

// inputsOf encodes the fields of a Service that others set and that decisions depend on.
func inputsOf(svc *corev1.Service, keys validation.Keys) string {
	others := make(map[string]string, len(svc.Annotations))
	for key, value := range svc.Annotations {
		if key != keys.Ports {
			others[key] = value
		}
	}
	text, err := json.Marshal(struct {
		UID         types.UID
		Deleting    *metav1.Time
		Spec        *corev1.ServiceSpec
		Annotations map[string]string
		Finalizers  []string
	}{svc.UID, svc.DeletionTimestamp, &svc.Spec, others, svc.Finalizers})
	if err != nil { // can't fail; if it does, no write counts as an echo
		return svc.ResourceVersion
	}
	return string(text)
}
