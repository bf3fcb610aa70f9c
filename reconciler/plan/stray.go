package plan

import "nowake.ai/svc-lb-mux/validation"

// Stray is what to take off a Service that was a channel once and isn't any more; nil if there is nothing. Kopf's own
// annotations alone are no sign of it: there are other operators that are made with it.
func Stray(keys validation.Keys, c *ObservedChannel) *ChannelPatch {
	patch := ChannelPatch{Channel: c.Key, Leftovers: c.Leftovers}
	for _, kind := range [...]string{keys.Accepted, keys.Programmed, keys.BackendsReady} {
		if find(c.Conditions, kind) != nil {
			patch.Drop = append(patch.Drop, kind)
			patch.Why = append(patch.Why, kind+" goes")
		}
	}
	if c.PortsNote != "" {
		patch.SetNote = true
		patch.Why = append(patch.Why, textAnnotation(keys.Ports, ""))
	}
	if len(patch.Why) == 0 && c.Leftovers.Finalizer == "" {
		return nil
	}
	if !c.Leftovers.Empty() {
		patch.Why = append(patch.Why, textLeftovers(c.Leftovers))
	}
	return &patch
}
