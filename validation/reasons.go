package validation

// Reason is the machine-readable name of a problem or warning. Reasons are part of the API: users filter Events and
// metrics by them.
type Reason string

// Reasons of problems: such a Service is refused.
const (
	// NotLoadBalancer is a mux or channel whose spec.type isn't LoadBalancer.
	NotLoadBalancer Reason = "NotLoadBalancer"
	// NotSupported is a mux with a selector.
	NotSupported Reason = "NotSupported"
	// MuxIsChannel is a mux whose class makes it a channel too.
	MuxIsChannel Reason = "MuxIsChannel"
	// InvalidMultiplexer is a multiplexer annotation other than "true" or "false".
	InvalidMultiplexer Reason = "InvalidMultiplexer"
	// InvalidDisabled is a disabled annotation other than "true" or "false".
	InvalidDisabled Reason = "InvalidDisabled"
	// InvalidLoadBalancerClass is a class under our prefix that isn't <prefix>/<mux>[.<namespace>].
	InvalidLoadBalancerClass Reason = "InvalidLoadBalancerClass"
	// InvalidPort is a port without a name, a port that Kubernetes refuses, or a channel with too many ports.
	InvalidPort Reason = "InvalidPort"
	// InvalidPortMapping is a mistake in external-ports, or two ports that ask for the same number and protocol.
	InvalidPortMapping Reason = "InvalidPortMapping"
	// InvalidSourceRanges is a source range of a channel that isn't a network, or too many source ranges.
	InvalidSourceRanges Reason = "InvalidSourceRanges"
	// SourceRangesNotSupported is a channel with source ranges on a mux that can't enforce them, or with source ranges in
	// the annotation that Kubernetes replaced by a field.
	SourceRangesNotSupported Reason = "SourceRangesNotSupported"
	// InvalidHostname is a mistake in external-dns-hostname.
	InvalidHostname Reason = "InvalidHostname"
	// InvalidPortRange is a mistake in port-range.
	InvalidPortRange Reason = "InvalidPortRange"
	// InvalidExplicitRange is a mistake in explicit-range.
	InvalidExplicitRange Reason = "InvalidExplicitRange"
	// InvalidMaxPorts is a mistake in max-ports.
	InvalidMaxPorts Reason = "InvalidMaxPorts"
	// InvalidMaxPortsPerNamespace is a mistake in max-ports-per-namespace.
	InvalidMaxPortsPerNamespace Reason = "InvalidMaxPortsPerNamespace"
	// InvalidAllowedNamespaces is a mistake in allowed-namespaces.
	InvalidAllowedNamespaces Reason = "InvalidAllowedNamespaces"
	// InvalidAllowedHostnames is a mistake in allowed-hostnames.
	InvalidAllowedHostnames Reason = "InvalidAllowedHostnames"
	// InvalidAllowedProtocols is a mistake in allowed-protocols.
	InvalidAllowedProtocols Reason = "InvalidAllowedProtocols"
	// InvalidAllocationConfigMap is an allocation-configmap that isn't a valid ConfigMap name.
	InvalidAllocationConfigMap Reason = "InvalidAllocationConfigMap"
	// InvalidReleaseGrace is a release-grace that isn't a duration.
	InvalidReleaseGrace Reason = "InvalidReleaseGrace"
	// InvalidPlaceholder is a placeholder annotation other than keep or remove.
	InvalidPlaceholder Reason = "InvalidPlaceholder"
	// InvalidProvider is a provider annotation with an unknown provider.
	InvalidProvider Reason = "InvalidProvider"
	// InvalidAddress is a mistake in address, on a mux on gateways.
	InvalidAddress Reason = "InvalidAddress"
	// InvalidGateways is a mistake in gateways, on a mux on gateways.
	InvalidGateways Reason = "InvalidGateways"
	// InvalidGeneration is a generation stamp that the reconciler can't have written.
	InvalidGeneration Reason = "InvalidGeneration"
)

// Reasons of warnings: such a Service is accepted.
const (
	// FieldNotHonoured is a field or annotation of a channel that no mux honours, or only a mux on gateways.
	FieldNotHonoured Reason = "FieldNotHonoured"
	// NodePortsUnused is a channel that allocates node ports, which it doesn't need.
	NodePortsUnused Reason = "NodePortsUnused"
	// ExternalIPsBypassMux is a channel that takes traffic on the nodes by externalIPs, past the mux.
	ExternalIPsBypassMux Reason = "ExternalIPsBypassMux"
	// SourceRangesNeedGateways is a channel with source ranges, which only a mux on gateways honours.
	SourceRangesNeedGateways Reason = "SourceRangesNeedGateways"
	// PortRangesNeedGateways is a channel with a range of numbers, which only a mux on gateways has.
	PortRangesNeedGateways Reason = "PortRangesNeedGateways"
	// RedundantOverride is an entry of external-ports that changes nothing.
	RedundantOverride Reason = "RedundantOverride"
	// LocalTrafficPolicy is a mux with externalTrafficPolicy Local.
	LocalTrafficPolicy Reason = "LocalTrafficPolicy"
	// GkePortLimitApplied is a GKE mux without a max-ports of 100 or less.
	GkePortLimitApplied Reason = "GkePortLimitApplied"
	// ProviderPortLimitApplied is the same for any other provider with a limit.
	ProviderPortLimitApplied Reason = "ProviderPortLimitApplied"
	// MuxNotAddressable is a mux whose name and namespace don't fit into a loadBalancerClass.
	MuxNotAddressable Reason = "MuxNotAddressable"
	// LikelyTypo is a valid value, or a key or class under another prefix, that is probably a typo.
	LikelyTypo Reason = "LikelyTypo"
	// UnknownAnnotation is an unknown annotation under our prefix.
	UnknownAnnotation Reason = "UnknownAnnotation"
	// MisplacedAnnotation is an annotation of ours that has no effect where it is: a mux's on a channel, a channel's on
	// a mux, one for gateways on any other mux, any on a Service that is neither, or one set as a label.
	MisplacedAnnotation Reason = "MisplacedAnnotation"
)
