package claimants

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Listener is a listener of a Gateway that this process serves, as the status of its Gateway or ListenerSet shows it.
// Number is the number that the listener asks for, even if it is refused.
type Listener struct {
	// Key is the listener's name among claimants.
	Key     types.NamespacedName
	Gateway types.NamespacedName
	// ListenerSet has no name for a listener of the Gateway itself.
	ListenerSet types.NamespacedName
	Name        string
	Number      int32
	Protocol    corev1.Protocol
	Conditions  []metav1.Condition
	// Routes are the routes that attach to the listener, and those that name it but are refused. The oldest comes first.
	Routes []Route
}

// Route is a route with a listener as its parent.
type Route struct {
	Kind string // such as TCPRoute
	Key  types.NamespacedName
	// Carried is true for the route whose backends get the listener's packets.
	Carried    bool
	Conditions []metav1.Condition
}
