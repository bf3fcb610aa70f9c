package read

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// Numbers returns the numbers in use on a Gateway: those that the allocator published come first, each under the name
// of its claim.
func Numbers(keys *validation.Keys, gateway *gatewayv1.Gateway, sets []*gatewayv1.ListenerSet) []Listening {
	var ours, others []Listening
	named := map[string]bool{}
	for _, set := range sets {
		if !IsMade(keys, set) {
			others = append(others, SlotsOf(set)...)
			continue
		}
		for _, on := range SlotsOf(set) {
			if name := ClaimName(keys, set); !named[name] { // a name that a tenant copied from another ListenerSet counts once
				on.Name = cmp.Or(name, on.Name)
			}
			named[on.Name] = true
			ours = append(ours, on)
		}
	}
	return append(append(ours, ListenersOf(gateway)...), others...)
}

// ClaimName returns the name of the claim for which a ListenerSet was made. It is empty if a tenant wrote text with a
// space there: only names of listeners in Listening have spaces.
func ClaimName(keys *validation.Keys, set *gatewayv1.ListenerSet) string {
	name := set.Annotations[keys.PortName]
	if strings.Contains(name, " ") {
		return ""
	}
	return name
}

// NoGateway says that a route's Gateway is missing.
func NoGateway(gateway types.NamespacedName) string {
	return fmt.Sprintf("there is no Gateway %s: create it, or name another one in the annotation gateway", gateway)
}

// NoRange says that no numbers are given on a route's Gateway.
func NoRange(gateway types.NamespacedName, keys *validation.Keys) string {
	return fmt.Sprintf("no numbers are given on the Gateway %s: its owner must set the annotation %s on it", gateway,
		keys.PortRange)
}
