// Package claimants distinguishes Services from other claimants of numbers: listeners of Gateways. The key of such a
// claimant has a slash in its name, which no Service can have.
package claimants

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Prefixes of the names of listeners.
const (
	ListenerOfGateway = "gateway/"
	ListenerOfSet     = "listenerset/"
)

// IsListener is true for the name of a listener. A listener asks for one number, and never for auto.
func IsListener(key types.NamespacedName) bool {
	return strings.HasPrefix(key.Name, ListenerOfGateway) || strings.HasPrefix(key.Name, ListenerOfSet)
}

// IsService is true for the name of a Service.
func IsService(key types.NamespacedName) bool { return !strings.Contains(key.Name, "/") }
