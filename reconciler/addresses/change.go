package addresses

import (
	"encoding/json"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/validation"
)

// changeOf turns a decided status into a change.
func changeOf(keys validation.Keys, s *decide.Status, now time.Time) Change {
	c := Change{Service: s.Mux.Service, Addresses: s.Addresses, SetsAddresses: s.SetsAddresses, CarriedBy: s.CarriedBy}
	for _, one := range []struct {
		kind string
		decide.Condition
	}{{keys.Addressed, s.Addressed}, {keys.Carried, s.Carried}} {
		switch {
		case s.Clean:
			c.Removed = append(c.Removed, one.kind)
		case one.Condition != decide.Condition{}:
			c.Conditions = append(c.Conditions, condition(c.Service, one.kind, one.Condition, now))
		}
	}
	return c
}

// condition keeps the time of the last transition while the status is the same.
func condition(svc *corev1.Service, kind string, set decide.Condition, now time.Time) metav1.Condition {
	made := metav1.Condition{Type: kind, Status: set.Status, Reason: set.Reason, Message: set.Message,
		ObservedGeneration: svc.Generation,
		LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second))}
	for i := range svc.Status.Conditions {
		if before := &svc.Status.Conditions[i]; before.Type == kind && before.Status == set.Status {
			made.LastTransitionTime = before.LastTransitionTime
		}
	}
	return made
}

// patch returns the strategic merge patch of the status subresource. The API server accepts metadata there, too. With
// the UID and the version in it, the patch fails if the Service has changed since.
func (c *Change) patch(keys validation.Keys) ([]byte, error) {
	metadata := map[string]any{"uid": c.Service.UID, "resourceVersion": c.Service.ResourceVersion}
	switch before, there := c.Service.Annotations[keys.CarriedBy]; {
	case c.CarriedBy == "" && there:
		metadata["annotations"] = map[string]any{keys.CarriedBy: nil}
	case c.CarriedBy != before:
		metadata["annotations"] = map[string]any{keys.CarriedBy: c.CarriedBy}
	}
	status := map[string]any{}
	if c.SetsAddresses {
		var ingress any // null takes the list away
		if list := ingressOf(c); len(list) > 0 {
			ingress = list
		}
		status["loadBalancer"] = map[string]any{"ingress": ingress}
	}
	var conditions []any
	for i := range c.Conditions {
		conditions = append(conditions, c.Conditions[i])
	}
	for _, kind := range c.Removed {
		conditions = append(conditions, map[string]any{"$patch": "delete", "type": kind})
	}
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	return json.Marshal(map[string]any{"metadata": metadata, "status": status})
}

// ingressOf returns the status's entries. With ipMode Proxy, clients in the cluster take the same path as all others:
// so source ranges and counters hold for them, too.
func ingressOf(c *Change) []corev1.LoadBalancerIngress {
	var ingress []corev1.LoadBalancerIngress
	mode := corev1.LoadBalancerIPModeProxy
	for _, a := range c.Addresses {
		ingress = append(ingress, corev1.LoadBalancerIngress{IP: a.String(), IPMode: &mode})
	}
	return ingress
}

// content identifies the addresses that a change sets.
func (c *Change) content() uint64 {
	sum := fnv.New64a()
	for _, a := range c.Addresses {
		_, _ = sum.Write([]byte(a.String() + " "))
	}
	return sum.Sum64()
}
