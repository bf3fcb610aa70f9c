package validation

import "slices"

// DefaultPrefix is the prefix of every name below, unless another is configured.
const DefaultPrefix = "svc-mux.nowake.ai"

// Names of annotations and conditions: what follows the prefix and a slash.
const (
	multiplexer          = "multiplexer"
	disabled             = "disabled"
	portRange            = "port-range"
	explicitRange        = "explicit-range"
	maxPorts             = "max-ports"
	maxPortsPerNamespace = "max-ports-per-namespace"
	allowedNamespaces    = "allowed-namespaces"
	allowedHostnames     = "allowed-hostnames"
	allowedProtocols     = "allowed-protocols"
	allocationConfigMap  = "allocation-configmap"
	releaseGrace         = "release-grace"
	placeholder          = "placeholder"
	provider             = "provider"
	externalPorts        = "external-ports"
	externalDNSHostname  = "external-dns-hostname"

	ports                 = "ports"
	generation            = "generation"
	ledger                = "ledger"
	channels              = "channels"
	topology              = "topology"
	summary               = "summary"
	aggregatedExternalDNS = "aggregated-external-dns"
	managed               = "managed"
	mux                   = "mux"
	channelNamespace      = "channel-namespace"
	channelName           = "channel-name"
	source                = "source"
	finalizer             = "finalizer"

	accepted      = "Accepted"
	programmed    = "Programmed"
	backendsReady = "BackendsReady"
)

// Annotations of external-dns, written on a mux; CloudflareProxied is also read from channels.
const (
	ExternalDNSHostname = "external-dns.alpha.kubernetes.io/hostname"
	CloudflareProxied   = "external-dns.alpha.kubernetes.io/cloudflare-proxied"
)

// Keys are the full names, prefix included.
type Keys struct {
	// Written by users, on a mux.
	Multiplexer          string // "true" makes a mux
	PortRange            string // where auto ports come from
	ExplicitRange        string // where channels may ask for numbers of their own
	MaxPorts             string // how many ports the mux may have
	MaxPortsPerNamespace string // how many of them one namespace may have
	AllowedNamespaces    string // who may attach
	AllowedHostnames     string // which DNS names channels may gather
	AllowedProtocols     string // which protocols channels may use
	AllocationConfigMap  string // the ledger's name
	ReleaseGrace         string // how long a released number is held for its old owner
	Placeholder          string // keep or remove the placeholder port
	Provider             string // whose load balancer it is, where its class doesn't say

	// Written by users, on a mux or a channel.
	Disabled string // "true": a paused mux, a withdrawn channel

	// Written by users, on a channel.
	ExternalPorts   string // the public port per port name
	ChannelHostname string // DNS names to be gathered on the mux

	// Written by us.
	Ports                 string // channel: what it got
	Generation            string // mux: the ledger generation its ports were decided from
	Ledger                string // mux: the ConfigMap of the ledger in force
	Channels              string // mux: its channels, for people
	Topology              string // mux: who is where, for people
	Summary               string // mux: one line, for people
	AggregatedExternalDNS string // mux: which external-dns values are ours
	Managed               string // a mux's slices: ours
	Mux                   string // a mux's slices and ledger: whose they are
	ChannelNamespace      string // label of a mux's slices: the namespace of the channel that is carried
	ChannelName           string // label of a mux's slices: its name
	Source                string // label of a mux's slices: the slice that is copied
	Finalizer             string // the original's, removed on sight

	// Condition types on a channel.
	Accepted      string
	Programmed    string
	BackendsReady string
}

func keysUnder(prefix string) Keys {
	under := prefix + "/"
	return Keys{
		Multiplexer:           under + multiplexer,
		PortRange:             under + portRange,
		ExplicitRange:         under + explicitRange,
		MaxPorts:              under + maxPorts,
		MaxPortsPerNamespace:  under + maxPortsPerNamespace,
		AllowedNamespaces:     under + allowedNamespaces,
		AllowedHostnames:      under + allowedHostnames,
		AllowedProtocols:      under + allowedProtocols,
		AllocationConfigMap:   under + allocationConfigMap,
		ReleaseGrace:          under + releaseGrace,
		Placeholder:           under + placeholder,
		Provider:              under + provider,
		Disabled:              under + disabled,
		ExternalPorts:         under + externalPorts,
		ChannelHostname:       under + externalDNSHostname,
		Ports:                 under + ports,
		Generation:            under + generation,
		Ledger:                under + ledger,
		Channels:              under + channels,
		Topology:              under + topology,
		Summary:               under + summary,
		AggregatedExternalDNS: under + aggregatedExternalDNS,
		Managed:               under + managed,
		Mux:                   under + mux,
		ChannelNamespace:      under + channelNamespace,
		ChannelName:           under + channelName,
		Source:                under + source,
		Finalizer:             under + finalizer,
		Accepted:              under + accepted,
		Programmed:            under + programmed,
		BackendsReady:         under + backendsReady,
	}
}

// place says who an annotation means something to.
type place uint8

const (
	onMux     = place(IsMux)
	onChannel = place(IsChannel)
	anywhere  = place(Both)
)

// placeOf returns where an annotation of ours, named without the prefix, belongs; 0 if there is none of that name.
func placeOf(name string) place {
	switch name {
	case portRange, explicitRange, maxPorts, maxPortsPerNamespace, allowedNamespaces, allowedHostnames,
		allowedProtocols, allocationConfigMap, releaseGrace, placeholder, provider:
		return onMux
	case externalPorts, externalDNSHostname:
		return onChannel
	case multiplexer, disabled, ports, generation, ledger, channels, topology, summary, aggregatedExternalDNS, managed, mux:
		// What we write is never complained about: a Service that changed sides may still carry it for a moment.
		return anywhere
	}
	return 0
}

// isSettable is true for a name that a user may write.
func isSettable(name string) bool { return slices.Contains(settable(), name) }

// settable are the names that a user may have meant.
func settable() []string {
	return []string{
		allocationConfigMap, allowedHostnames, allowedNamespaces, allowedProtocols, disabled, explicitRange,
		externalDNSHostname, externalPorts, maxPorts, maxPortsPerNamespace, multiplexer, placeholder, portRange,
		provider, releaseGrace,
	}
}
