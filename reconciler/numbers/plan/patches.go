package plan

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// LedgerWrite is a ledger to store.
type LedgerWrite struct {
	Ledger Ledger
	Why    []string
}

// MuxPatch is all that is written on the mux, at once.
type MuxPatch struct {
	ResourceVersion string
	// Ports is the whole list, nil if it stays as it is.
	Ports []corev1.ServicePort
	// Added are the channels that get ports with this patch, in the order in which they are served. If the API server
	// refuses the patch, one of them may be the cause.
	Added []types.NamespacedName
	// Annotations has the annotations to set. An empty value removes the annotation.
	Annotations map[string]string
	// DropFinalizer is the original's finalizer if the patch removes it.
	DropFinalizer string
	Why           []string
	Events        []Event
	// Content identifies what the mux looks like once this is written. The same content twice in a row means that another
	// writer undid the first write.
	Content uint64
}

// ChannelPatch is all that is written on a channel, at once, through its status.
type ChannelPatch struct {
	Channel types.NamespacedName
	// ResourceVersion is the version that the channel must have for the write; empty for any.
	ResourceVersion string
	// Address is the address that the channel shows from now on, if SetAddress is true.
	Address    []corev1.LoadBalancerIngress
	SetAddress bool
	Conditions []metav1.Condition // to set
	Drop       []string           // types of conditions to remove
	// PortsNote is the new ports annotation, if SetNote is true. Empty removes it.
	PortsNote string
	SetNote   bool
	// Leftovers are the fields of the original that must be removed.
	Leftovers validation.Leftovers
	Why       []string
	Events    []Event
	// Content identifies what the channel looks like once this is written, as in MuxPatch.
	Content uint64
}

// Event is something to tell people, on the mux or one of its channels.
type Event struct {
	Object  types.NamespacedName
	Warning bool
	Reason  validation.Reason
	Message string
}

// Type is the type of the Event in Kubernetes.
func (e *Event) Type() string {
	if e.Warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// Note is the message, cut to Kubernetes' limit.
func (e *Event) Note() string {
	const limit = 1024
	if len(e.Message) <= limit {
		return e.Message
	}
	return strings.ToValidUTF8(e.Message[:limit-3], "") + "..."
}
