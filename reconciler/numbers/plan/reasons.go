package plan

import "nowake.ai/svc-lb-mux/validation"

// These are reasons in conditions and Events that need more than one object to decide. Like those of validation they
// are part of the API: people filter by them.
const (
	// Accepted is a channel that has all its ports.
	Accepted validation.Reason = "Accepted"
	// Programmed is a channel whose ports are on a mux that has an address.
	Programmed validation.Reason = "Programmed"
	// AddressPending is a channel whose ports are on a mux that has no address yet.
	AddressPending validation.Reason = "AddressPending"
	// NotAccepted is a channel that has no ports to program, or that is being deleted.
	NotAccepted validation.Reason = "NotAccepted"
	// Disabled is a channel that its owner withdrew. If it has numbers, they are held.
	Disabled validation.Reason = "Disabled"
	// Waiting is a channel that asks a frozen mux for ports or for a change.
	Waiting validation.Reason = "Waiting"

	// HasBackends, NoBackends and FamilyMismatch are reasons of the BackendsReady condition.
	HasBackends    validation.Reason = "HasBackends"
	NoBackends     validation.Reason = "NoBackends"
	FamilyMismatch validation.Reason = "FamilyMismatch"
	// BackendsPending is a channel whose backends are ready, but aren't on the mux.
	BackendsPending validation.Reason = "BackendsPending"
	// TooManyEndpoints is a channel with more endpoints than its ports on a mux on gateways may have. The others are used.
	TooManyEndpoints validation.Reason = "TooManyEndpoints"
	// BackendsRefused is a channel with an EndpointSlice for the mux that the API server doesn't take.
	BackendsRefused validation.Reason = "BackendsRefused"

	// MuxNotFound is a channel whose mux doesn't exist, is being deleted, or is no mux.
	MuxNotFound validation.Reason = "MuxNotFound"
	// MuxNotServed is a mux or a Gateway in a namespace that the reconciler doesn't serve, or a channel of such a mux.
	MuxNotServed validation.Reason = "MuxNotServed"
	// MuxPortConflict is a request for a number that another channel or the mux's owner has.
	MuxPortConflict validation.Reason = "MuxPortConflict"
	// PortRangesNotSupported is a channel that asks for a range of numbers on a mux that isn't on gateways.
	PortRangesNotSupported validation.Reason = "PortRangesNotSupported"
	// SourceRangesExceeded is a channel whose source ranges are more than its namespace may have on the mux.
	SourceRangesExceeded validation.Reason = "SourceRangesExceeded"
	// MuxPortLimitExceeded is a channel that doesn't fit under the mux's cap.
	MuxPortLimitExceeded validation.Reason = "MuxPortLimitExceeded"
	// QuotaExceeded is a channel that doesn't fit under the quota of its namespace.
	QuotaExceeded validation.Reason = "QuotaExceeded"
	// PortChangesLimited is a change that waits, because its namespace changed ports on the mux too often.
	PortChangesLimited validation.Reason = "PortChangesLimited"
	// NamespaceNotAllowed is a channel in a namespace that may not attach.
	NamespaceNotAllowed validation.Reason = "NamespaceNotAllowed"
	// HostnameNotAllowed is a DNS name that the mux doesn't take. Its channel keeps its ports; only a newcomer whose name
	// external-dns would publish gets none.
	HostnameNotAllowed validation.Reason = "HostnameNotAllowed"
	// ProtocolNotAllowed is a port with a protocol that the mux doesn't take, or can't mix with its other ports.
	ProtocolNotAllowed validation.Reason = "ProtocolNotAllowed"
	// OutOfRange is a number outside of the mux's ranges: a request for one is refused, and an incumbent keeps its own.
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
	// MuxExternalDNSAnnotationConflict is a DNS name that another namespace has, or a proxied flag that the mux's owner
	// set otherwise.
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
