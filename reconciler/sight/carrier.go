package sight

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// Carrier is what the gateways' controller wrote on a mux on gateways.
type Carrier struct {
	Pool string
	// By names the gateways that answer for the addresses, such as "node-a,node-b". It is empty if none does.
	By string
	// Addressed and Carried are conditions of the mux. A condition that wasn't written yet has no type.
	Addressed, Carried metav1.Condition
}

// carrierOf returns the Carrier of a mux on gateways; nil for any other mux.
func carrierOf(keys validation.Keys, svc *corev1.Service, pool string) *Carrier {
	if pool == "" {
		return nil
	}
	c := &Carrier{Pool: pool, By: svc.Annotations[keys.CarriedBy]}
	for _, condition := range svc.Status.Conditions {
		switch condition.Type {
		case keys.Addressed:
			c.Addressed = condition
		case keys.Carried:
			c.Carried = condition
		}
	}
	return c
}

// allIsWell is the reason of Carried if no gateway refuses a part of the mux.
const allIsWell = "Carried"

// Trouble returns the condition that names the fault. It returns false if all is well.
func (c *Carrier) Trouble() (metav1.Condition, bool) {
	for _, condition := range [...]metav1.Condition{c.Addressed, c.Carried} {
		if condition.Type != "" && condition.Status != metav1.ConditionTrue {
			return condition, true
		}
	}
	return c.Carried, c.Carried.Type != "" && c.Carried.Reason != allIsWell
}

// Nobody is true if the controller knows that no gateway answers for the addresses.
func (c *Carrier) Nobody() bool { return c.By == "" && c.Carried.Status == metav1.ConditionFalse }
