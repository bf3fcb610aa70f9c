package plan

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// ObservedMux is a mux as it is.
type ObservedMux struct {
	validation.Mux
	Problems []validation.Problem
	Excesses []validation.Problem
	Warnings []validation.Problem
	// Address is the address that the provider gave the mux.
	Address []corev1.LoadBalancerIngress
	// DeclaresPlaceholder is true if the tool that applies the mux declares the placeholder port.
	DeclaresPlaceholder bool
	Leftovers           validation.Leftovers
}

// Spans returns the numbers of the mux's ports and ranges, by name.
func (m *ObservedMux) Spans() map[string]Span {
	spans := make(map[string]Span, len(m.Ports)+len(m.Ranges))
	for i := range m.Ports {
		spans[m.Ports[i].Name] = SlotOf(&m.Ports[i]).Span()
	}
	for _, r := range m.Ranges {
		spans[r.Name] = SpanOf(r)
	}
	return spans
}

// ObservedChannel is a channel as it is.
type ObservedChannel struct {
	validation.Channel
	Problems []validation.Problem
	// Excesses are lists with more entries than allowed. Such a channel works with all entries.
	Excesses   []validation.Problem
	Address    []corev1.LoadBalancerIngress
	Conditions []metav1.Condition
	// PortsNote is the ports annotation exactly as written.
	PortsNote string
	Leftovers validation.Leftovers
	// Admitted is true if the mux's owner admits the channel by other means than allowed-namespaces.
	Admitted bool
	Backends Backing
	// RefusedSlices are the API server's words about a slice of the channel's backends that it refuses; empty if it
	// refuses none.
	RefusedSlices string
	// Excess says how a limit of muxes on gateways cuts the channel's endpoints; empty if none does.
	Excess string
}

// Backing is whether a channel has backends that the mux can reach.
type Backing uint8

// The states of backing. Unknown leaves the condition as it is.
const (
	Unknown Backing = iota
	Unbacked
	Backed
	// OtherFamily is a channel all of whose backends have addresses of a family that the mux hasn't.
	OtherFamily
	// NotCarried is a channel that has a ready backend, and none on the mux.
	NotCarried
)
