package want

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Reason is why something of a mux isn't carried.
type Reason string

// The reasons of refusals.
const (
	NoSource      Reason = "NoSourceAddress"  // the machine has no address of the family
	BadBackend    Reason = "BackendRefused"   // a backend is where none may be
	NoSettings    Reason = "SettingsMissing"  // a slice doesn't say who may connect
	BadSettings   Reason = "SettingsInvalid"  // a slice's settings can't be read
	Overlapping   Reason = "PortsOverlap"     // two services share a number
	AddressLost   Reason = "AddressReclaimed" // the claims give the address to another mux
	MuxNotListed  Reason = "MuxMissing"       // the claim is held, but the mux isn't in the list
	UnknownReturn Reason = "ReturnPathUnknown"
	TooManySlots  Reason = "TooManyBackends" // more backends than a port, a mux or a machine may have
	// TooManyPorts: more ports and ranges than a mux or a machine may have.
	TooManyPorts Reason = "TooManyPorts"
	// TooManyNetworks: more source ranges than a mux or a machine may have.
	TooManyNetworks Reason = "TooManySourceRanges"
	// MachineAddress: the machine itself has the mux's address.
	MachineAddress Reason = "AddressOfMachine"
)

// Refusal is something of one mux that isn't carried. All other muxes go on.
type Refusal struct {
	Mux types.NamespacedName
	// Port is the port's name on the mux; it is empty if the refusal is about the whole mux.
	Port   string
	Reason Reason
	// Message names the value and the way out.
	Message string
}

func (d *deciding) refuse(mux types.NamespacedName, port string, reason Reason, message string) {
	d.refusals = append(d.refusals, Refusal{mux, port, reason, message})
}

// sortedRefusals returns each refusal once: both address families of a mux often have the same fault.
func (d *deciding) sortedRefusals() []Refusal {
	slices.SortFunc(d.refusals, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(a.Mux.Namespace, b.Mux.Namespace), cmp.Compare(a.Mux.Name, b.Mux.Name),
			cmp.Compare(a.Port, b.Port), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(d.refusals)
}
