package plan

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	helmRelease = "meta.helm.sh/release-name"
	// lastApplied has the manifest that kubectl apply applied last.
	lastApplied = corev1.LastAppliedConfigAnnotation
)

// DeclaresPlaceholder is true if a tool that applies a Service declares the placeholder port: a server-side applier
// owns it, or kubectl apply's annotation has it. For Helm it is always true: Helm's manifest isn't on the Service.
func DeclaresPlaceholder(svc *corev1.Service) bool {
	if _, helm := svc.Annotations[helmRelease]; helm {
		return true
	}
	if applied := svc.Annotations[lastApplied]; applied != "" && appliedDeclares(applied) {
		return true
	}
	return slices.ContainsFunc(svc.ManagedFields, managerOwns)
}

func appliedDeclares(text string) bool {
	var applied struct {
		Spec struct {
			Ports []struct {
				Port     int32           `json:"port"`
				Protocol corev1.Protocol `json:"protocol"`
			} `json:"ports"`
		} `json:"spec"`
	}
	if json.Unmarshal([]byte(text), &applied) != nil {
		return false // not written by kubectl
	}
	for _, port := range applied.Spec.Ports {
		if port.Port == placeholderNumber && (port.Protocol == "" || port.Protocol == corev1.ProtocolTCP) {
			return true
		}
	}
	return false
}

// managerOwns is true if a server-side applier owns the port, by the key that managedFields use.
func managerOwns(entry metav1.ManagedFieldsEntry) bool {
	if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
		return false
	}
	var owned struct {
		Spec struct {
			Ports map[string]json.RawMessage `json:"f:ports"`
		} `json:"f:spec"`
	}
	if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) != nil {
		return false
	}
	_, owns := owned.Spec.Ports[`k:{"port":101,"protocol":"TCP"}`]
	return owns
}
