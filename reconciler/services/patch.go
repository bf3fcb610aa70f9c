package services

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// muxBody is a JSON merge patch of a mux. It replaces whole lists, because a strategic merge loses 53/TCP beside
// 53/UDP. It carries the resource version of the decision, so that the API server refuses an outdated write.
func muxBody(p *plan.MuxPatch, finalizers []string) ([]byte, error) {
	metadata := map[string]any{"resourceVersion": p.ResourceVersion}
	if len(p.Annotations) > 0 {
		metadata["annotations"] = orNull(p.Annotations)
	}
	if p.DropFinalizer != "" {
		metadata["finalizers"] = slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool {
			return f == p.DropFinalizer
		})
	}
	body := map[string]any{"metadata": metadata}
	if p.Ports != nil {
		body["spec"] = map[string]any{"ports": p.Ports}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("patch of a mux: %w", err)
	}
	return data, nil
}

// isRecreated is true if the object was deleted and created again: the API server takes the patch for an attempt to
// change the UID.
func isRecreated(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}

// orNull turns empty values into null, which removes the annotation.
func orNull(annotations map[string]string) map[string]any {
	values := make(map[string]any, len(annotations))
	for key, value := range annotations {
		values[key] = value
		if value == "" {
			values[key] = nil
		}
	}
	return values
}

// channelBody is a strategic merge patch of a channel's status: conditions are merged by type, the address is replaced
// as a whole. The API server accepts annotations and finalizers in it, too. It carries the UID, so that a Service
// created again under the same name doesn't get the verdict of the old one.
func channelBody(p *plan.ChannelPatch, uid types.UID, keys validation.Keys) ([]byte, error) {
	annotations := map[string]string{}
	if p.SetNote {
		annotations[keys.Ports] = p.PortsNote
	}
	for _, key := range p.Leftovers.Annotations {
		annotations[key] = ""
	}
	metadata, status := map[string]any{}, map[string]any{}
	if len(annotations) > 0 {
		metadata["annotations"] = orNull(annotations)
	}
	if p.Leftovers.Finalizer != "" {
		metadata["$deleteFromPrimitiveList/finalizers"] = []string{p.Leftovers.Finalizer}
	}
	if p.SetAddress {
		status["loadBalancer"] = addressBody(p.Address)
	}
	if conditions := conditionsBody(p.Conditions, p.Drop); len(conditions) > 0 {
		status["conditions"] = conditions
	}
	metadata["uid"] = uid
	if p.ResourceVersion != "" {
		metadata["resourceVersion"] = p.ResourceVersion
	}
	body := map[string]any{"metadata": metadata}
	if len(status) > 0 {
		body["status"] = status
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("patch of channel %s: %w", p.Channel, err)
	}
	return data, nil
}

func addressBody(address []corev1.LoadBalancerIngress) map[string]any {
	if len(address) == 0 {
		return map[string]any{"ingress": nil}
	}
	return map[string]any{"ingress": address}
}

func conditionsBody(set []metav1.Condition, drop []string) []any {
	var list []any
	for i := range set {
		list = append(list, &set[i])
	}
	for _, kind := range drop {
		list = append(list, map[string]any{"$patch": "delete", "type": kind})
	}
	return list
}
