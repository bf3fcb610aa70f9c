package plan

import "nowake.ai/svc-lb-mux/validation"

// Reasons in conditions and Events that need more than one object to decide. Like those of validation they are part of
// the API: people filter by them.
const (
	// Accepted is a channel that has all its ports.
	Accepted validation.Reason = "Accepted"
	// Programmed is a channel whose ports are on a mux that has an address.
	Programmed validation.Reason = "Programmed"
	// AddressPending is a channel whose ports are on a mux that has no address yet.
	AddressPending validation.Reason = "AddressPending"
	// NotAccepted is a channel that has no ports to program.
	NotAccepted validation.Reason = "NotAccepted"
	// Disabled is a channel that its owner withdrew. Its numbers are held.
	Disabled validation.Reason = "Disabled"
	// Waiting is a channel of a frozen mux.
	Waiting validation.Reason = "Waiting"

	// HasBackends, NoBackends and FamilyMismatch are reasons of the BackendsReady condition.
	HasBackends    validation.Reason = "HasBackends"
	NoBackends     validation.Reason = "NoBackends"
	FamilyMismatch validation.Reason = "FamilyMismatch"
	// BackendsPending is a channel whose backends are ready, and are no longer on the mux.
	BackendsPending validation.Reason = "BackendsPending"
	// BackendsRefused is a channel with an EndpointSlice on the mux that the API server doesn't take.
	BackendsRefused validation.Reason = "BackendsRefused"

	// MuxNotFound is a channel that names a mux that doesn't exist.
	MuxNotFound validation.Reason = "MuxNotFound"
	// MuxNotServed is a mux, a channel of a mux, or a Gateway, in a namespace that no reconciler serves.
	MuxNotServed validation.Reason = "MuxNotServed"
	// MuxPortConflict is a number that belongs to another channel or to the mux's owner.
	MuxPortConflict validation.Reason = "MuxPortConflict"
	// PortRangesNotSupported is a channel that asks for a range of numbers on a mux that isn't on gateways.
	PortRangesNotSupported validation.Reason = "PortRangesNotSupported"
	// MuxPortLimitExceeded is a channel that doesn't fit under the mux's cap.
	MuxPortLimitExceeded validation.Reason = "MuxPortLimitExceeded"
	// QuotaExceeded is a channel that doesn't fit under its namespace's cap.
	QuotaExceeded validation.Reason = "QuotaExceeded"
	// PortChangesLimited is a change that waits, because its namespace changed ports on the mux too often.
	PortChangesLimited validation.Reason = "PortChangesLimited"
	// NamespaceNotAllowed is a channel in a namespace that may not attach.
	NamespaceNotAllowed validation.Reason = "NamespaceNotAllowed"
	// HostnameNotAllowed is a DNS name that isn't gathered. Its channel keeps its ports.
	HostnameNotAllowed validation.Reason = "HostnameNotAllowed"
	// ProtocolNotAllowed is a port with a protocol that the mux doesn't carry.
	ProtocolNotAllowed validation.Reason = "ProtocolNotAllowed"
	// OutOfRange is a number outside of the range that allows it.
	OutOfRange validation.Reason = "OutOfRange"
	// MuxPatchRefused is a channel or a mux whose write the API server refused.
	MuxPatchRefused validation.Reason = "MuxPatchRefused"

	// MuxPortsChanged is a mux whose ports were changed.
	MuxPortsChanged validation.Reason = "MuxPortsChanged"
	// MuxAnnotationsUpdated is a mux whose annotations for people were changed.
	MuxAnnotationsUpdated validation.Reason = "MuxAnnotationsUpdated"
	// MuxEndpointsCreated is a mux that got its first backends.
	MuxEndpointsCreated validation.Reason = "MuxEndpointsCreated"
	// MuxEndpointsChanged is a mux with a channel that got its first backends, or lost its last.
	MuxEndpointsChanged validation.Reason = "MuxEndpointsChanged"
	// MuxDriftCorrected is a drift that the reconciler corrected.
	MuxDriftCorrected validation.Reason = "MuxDriftCorrected"
	// Contested is a mux that another writer keeps changing back, or a channel whose ports are missing because of that.
	Contested validation.Reason = "Contested"
	// MuxExternalDNSAnnotationConflict is a value for external-dns that the mux's owner, or another channel, has set
	// differently.
	MuxExternalDNSAnnotationConflict validation.Reason = "MuxExternalDnsAnnotationConflict"
	// MuxPaused is a mux that its owner paused.
	MuxPaused validation.Reason = "MuxPaused"
	// MuxUnfrozen is a mux whose freeze ended.
	MuxUnfrozen validation.Reason = "MuxUnfrozen"
	// PortAllocationStoreInvalid is a ledger that can't be used.
	PortAllocationStoreInvalid validation.Reason = "PortAllocationStoreInvalid"
	// UnexplainedPort is a port of the mux whose name looks like a channel's, but that no channel or ledger explains.
	UnexplainedPort validation.Reason = "UnexplainedPort"
	// SliceNameTaken is a mux whose backends can't be carried, because a foreign EndpointSlice has the name of a
	// carried slice.
	SliceNameTaken validation.Reason = "SliceNameTaken"
)
