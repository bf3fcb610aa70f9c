package project

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// String returns the decision for people: each step with its reason.
func (d *Decision) String() string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%s on %s: %d endpoints carried\n", d.Channel, d.Mux, d.Carried)
	for i := range d.Steps {
		_, _ = fmt.Fprintln(&b, &d.Steps[i])
	}
	for _, key := range slices.SortedFunc(maps.Keys(d.Taken), plan.CompareKeys) {
		_, _ = fmt.Fprintf(&b, "refused: %s\n", d.Taken[key])
	}
	return b.String()
}

func (s *Step) String() string {
	text := fmt.Sprintf("%s EndpointSlice %s: %s", s.Op, keyOf(s.Slice), strings.Join(s.Why, "; "))
	if s.Op == Create {
		text += fmt.Sprintf("; %s, %d endpoints", textPorts(s.Slice.Ports), len(s.Slice.Endpoints))
	}
	return text
}

func textTaken(slice types.NamespacedName, source string) string {
	return fmt.Sprintf("a foreign EndpointSlice has the name %s, so the backends in %s can't be carried: delete it, and"+
		" svc-lb-mux will write its own", slice, source)
}

// DriftMessage tells the mux's owner that a step undoes the change of another writer.
func (s *Step) DriftMessage() string {
	return fmt.Sprintf("another writer changed EndpointSlice %s, and the change was undone (%s: %s): only svc-lb-mux "+
		"writes slices of a mux, so stop the other writer", keyOf(s.Slice), s.Op, strings.Join(s.Why, "; "))
}

// RefusedMessage tells the mux's owner that the API server refuses a slice.
func (s *Step) RefusedMessage(channel types.NamespacedName, words string) string {
	return fmt.Sprintf("the API server refuses to %s EndpointSlice %s with the backends of %s: %s: %s",
		s.Op, keyOf(s.Slice), channel, words, plan.TextMendRefusal(s.Slice.Namespace))
}

func textPorts(ports []discoveryv1.EndpointPort) string {
	texts := make([]string, 0, len(ports))
	for _, port := range ports {
		key, _ := keyOfPort(port)
		number := "any"
		if port.Port != nil {
			number = fmt.Sprint(*port.Port)
		}
		text := fmt.Sprintf("%s %s/%s", key.name, number, key.protocol)
		if port.AppProtocol != nil {
			text += " " + *port.AppProtocol
		}
		texts = append(texts, text)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
