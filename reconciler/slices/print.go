package slices

import (
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// fewAddresses is how many addresses a line names.
const fewAddresses = 3

// String tells the plan to people: what is done, and why.
func (s *Decision) String() string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%s on %s: %s, %d endpoints carried\n", s.Channel, s.Mux, s.Backing, s.Carried)
	for i := range s.Steps {
		_, _ = fmt.Fprintln(&b, &s.Steps[i])
	}
	for _, refused := range s.Refused {
		_, _ = fmt.Fprintf(&b, "refused: %s\n", refused)
	}
	return b.String()
}

func (s *Step) String() string {
	drift := ""
	if s.Drift {
		drift = " (somebody else's doing)"
	}
	if s.Stray {
		drift += " (once nobody else claims it)"
	}
	text := fmt.Sprintf("%s EndpointSlice %s%s: %s", s.Op, keyOf(s.Slice), drift, strings.Join(s.Why, "; "))
	if s.Op == Create {
		text += fmt.Sprintf("; %s, %d endpoints", textPorts(s.Slice.Ports), len(s.Slice.Endpoints))
	}
	return text
}

func (r NameTaken) String() string {
	return fmt.Sprintf("EndpointSlice %s is somebody else's, so that the backends in %s can't be carried: delete %[1]s, and it"+
		" will be written", r.Slice, r.Source)
}

// DriftMessage tells the mux's owner what was undone.
func (s *Step) DriftMessage() string {
	verb := "put back"
	if s.Op == Delete {
		verb = "taken away"
	}
	return fmt.Sprintf("EndpointSlice %s was changed by somebody else and is %s: %s. Decision of a mux are written by"+
		" svc-lb-mux alone; whoever changes them should stop", keyOf(s.Slice), verb, strings.Join(s.Why, "; "))
}

// RefusedMessage tells the mux's owner that the API server doesn't take a slice.
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

// endpointChange is what became of endpoints, each known by its first address.
type endpointChange struct{ came, left, changed []string }

func compareEndpoints(is, want []discoveryv1.Endpoint) endpointChange {
	var change endpointChange
	before := make(map[string]*discoveryv1.Endpoint, len(is))
	for i := range is {
		before[firstAddress(&is[i])] = &is[i]
	}
	stays := make(map[string]bool, len(want))
	for i := range want {
		address := firstAddress(&want[i])
		stays[address] = true
		if old := before[address]; old == nil {
			change.came = append(change.came, address)
		} else if !sameEndpoint(*old, want[i]) {
			change.changed = append(change.changed, address+textReady(old, &want[i]))
		}
	}
	for i := range is {
		if address := firstAddress(&is[i]); !stays[address] {
			change.left = append(change.left, address)
		}
	}
	return change
}

func (c endpointChange) String() string {
	var parts []string
	for _, part := range []struct {
		list []string
		verb string
	}{{c.came, "came"}, {c.left, "left"}, {c.changed, "changed"}} {
		if len(part.list) > 0 {
			parts = append(parts, few(part.list)+" "+part.verb)
		}
	}
	if parts == nil {
		return "endpoints are in another order"
	}
	return strings.Join(parts, ", ")
}

func few(list []string) string {
	if len(list) <= fewAddresses {
		return strings.Join(list, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(slices.Clone(list[:fewAddresses]), " "), len(list)-fewAddresses)
}

func textReady(old, now *discoveryv1.Endpoint) string {
	switch {
	case isReady(old) == isReady(now):
		return ""
	case isReady(now):
		return " (ready)"
	}
	return " (not ready)"
}

func firstAddress(e *discoveryv1.Endpoint) string {
	if len(e.Addresses) == 0 {
		return ""
	}
	return e.Addresses[0]
}
