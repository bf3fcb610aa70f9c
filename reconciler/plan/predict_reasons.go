package plan

import "nowake.ai/svc-lb-mux/validation"

// Reasons that only predictions have.
const (
	// MuxNearlyFull is a mux with room for few ports more.
	MuxNearlyFull validation.Reason = "MuxNearlyFull"
	// NamespaceNearlyFull is a namespace that may have few ports more on a mux.
	NamespaceNearlyFull validation.Reason = "NamespaceNearlyFull"
	// RangeNearlyUsedUp is a mux with few numbers left to pick from.
	RangeNearlyUsedUp validation.Reason = "RangeNearlyUsedUp"
	// ChannelPortsDropped is a change of a mux that takes ports of channels off it.
	ChannelPortsDropped validation.Reason = "ChannelPortsDropped"
	// ChannelsDetached is a change of a mux that shuts channels out.
	ChannelsDetached validation.Reason = "ChannelsDetached"
	// MuxInUse is a mux that goes while channels have ports on it.
	MuxInUse validation.Reason = "MuxInUse"
)
