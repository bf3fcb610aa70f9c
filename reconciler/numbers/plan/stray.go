package plan

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"nowake.ai/svc-lb-mux/validation"
)

// Stray returns a patch that removes our fields from a former channel; nil if it has none. Kopf's own annotations alone
// don't count: other operators use Kopf, too.
func Stray(keys validation.Keys, c *ObservedChannel) *ChannelPatch {
	patch := ChannelPatch{Channel: c.Key, Leftovers: c.Leftovers}
	for _, kind := range keys.Conditions() {
		if meta.FindStatusCondition(c.Conditions, kind) != nil {
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
