package forecast

import "nowake.ai/svc-lb-mux/validation"

// Reasons of predictions only.
const (
	// MuxNearlyFull is a mux with room for few more ports.
	MuxNearlyFull validation.Reason = "MuxNearlyFull"
	// NamespaceNearlyFull is a namespace that may have few more ports on a mux.
	NamespaceNearlyFull validation.Reason = "NamespaceNearlyFull"
	// RangeNearlyUsedUp is a range with few free numbers.
	RangeNearlyUsedUp validation.Reason = "RangeNearlyUsedUp"
	// ChannelPortsDropped is a change of a mux that removes ports of channels.
	ChannelPortsDropped validation.Reason = "ChannelPortsDropped"
	// ChannelsDetached is a change of a mux that excludes the namespaces of attached channels.
	ChannelsDetached validation.Reason = "ChannelsDetached"
	// MuxInUse is a mux that is deleted, or ceases to be one, while channels have ports on it.
	MuxInUse validation.Reason = "MuxInUse"
)
