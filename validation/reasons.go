package validation

// Reason says in one word what is wrong. Reasons are part of the API: people filter Events and metrics by them.
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
	// InvalidPort is a port of the Service without a name, or one that Kubernetes wouldn't take.
	InvalidPort Reason = "InvalidPort"
	// InvalidPortMapping is a mistake in external-ports, or one number and protocol asked for twice.
	InvalidPortMapping Reason = "InvalidPortMapping"
	// SourceRangesNotSupported is a channel that closes itself to some clients, which a mux can't honour.
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
	// InvalidAllocationConfigMap is an allocation-configmap that can't be a ConfigMap's name.
	InvalidAllocationConfigMap Reason = "InvalidAllocationConfigMap"
	// InvalidReleaseGrace is a release-grace that isn't a duration.
	InvalidReleaseGrace Reason = "InvalidReleaseGrace"
	// InvalidPlaceholder is a placeholder annotation other than keep or remove.
	InvalidPlaceholder Reason = "InvalidPlaceholder"
	// InvalidProvider is a provider annotation that names no provider.
	InvalidProvider Reason = "InvalidProvider"
	// InvalidGeneration is a generation stamp that the reconciler didn't write.
	InvalidGeneration Reason = "InvalidGeneration"
)

// Reasons of warnings: such a Service is accepted.
const (
	// FieldNotHonoured is a field or annotation of a channel that a mux can't honour.
	FieldNotHonoured Reason = "FieldNotHonoured"
	// NodePortsUnused is a channel that takes node ports which nothing will use.
	NodePortsUnused Reason = "NodePortsUnused"
	// ExternalIPsBypassMux is a channel that takes addresses on the nodes, past the mux.
	ExternalIPsBypassMux Reason = "ExternalIPsBypassMux"
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
	// LikelyTypo is a value that means something, but most likely not what was meant.
	LikelyTypo Reason = "LikelyTypo"
	// UnknownAnnotation is an annotation under our prefix that means nothing.
	UnknownAnnotation Reason = "UnknownAnnotation"
	// MisplacedAnnotation is an annotation of ours where it means nothing: a mux's on a channel, a channel's on a mux,
	// either on a Service that is neither, or among the labels.
	MisplacedAnnotation Reason = "MisplacedAnnotation"
)
