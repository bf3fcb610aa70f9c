package validation

import "slices"

// DefaultPrefix is the prefix of all names below, unless another one is configured.
const DefaultPrefix = "svc-mux.nowake.ai"

// Names of annotations and conditions, without prefix and slash.
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
	address              = "address"
	gateways             = "gateways"
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
	sourceRanges          = "source-ranges"
	sessionAffinity       = "session-affinity"
	trafficPolicy         = "traffic-policy"
	carriedBy             = "carried-by"
	pool                  = "pool"
	gatewayFacts          = "gateway-facts"
	gatewayReport         = "gateway-report"

	accepted      = "Accepted"
	programmed    = "Programmed"
	backendsReady = "BackendsReady"
	addressed     = "Addressed"
	carried       = "Carried"
)

// Annotations of external-dns, written on a mux; CloudflareProxied is also read from channels.
const (
	ExternalDNSHostname = "external-dns.alpha.kubernetes.io/hostname"
	CloudflareProxied   = "external-dns.alpha.kubernetes.io/cloudflare-proxied"
)

// Keys are the full names, prefix included.
type Keys struct {
	// Written by users, on a mux.
	Multiplexer          string // "true" makes the Service a mux
	PortRange            string // the numbers for auto ports
	ExplicitRange        string // the numbers that channels may choose
	MaxPorts             string // how many ports the mux may have
	MaxPortsPerNamespace string // how many of them one namespace may have
	AllowedNamespaces    string // the namespaces that may attach
	AllowedHostnames     string // the DNS names that channels may publish
	AllowedProtocols     string // the protocols that channels may use
	AllocationConfigMap  string // the ledger's name
	ReleaseGrace         string // how long a released number is held for its old owner
	Placeholder          string // keep or remove the placeholder port
	Provider             string // the load balancer's provider, if the class doesn't name it
	Address              string // the addresses that a mux on gateways asks for
	Gateways             string // how many gateways must be able to carry the mux

	// Written by users, on a mux or a channel.
	Disabled string // "true" pauses a mux, and withdraws a channel

	// Written by users, on a channel.
	ExternalPorts   string // the public number by port name
	ChannelHostname string // DNS names to publish on the mux

	// Written by us.
	Ports                 string // channel: the public number of each port
	Generation            string // mux: the ledger generation that its ports were decided from
	Ledger                string // mux: the ConfigMap of the ledger in force
	Channels              string // mux: its channels, for people
	Topology              string // mux: the ports of each channel, for people
	Summary               string // mux: one line, for people
	AggregatedExternalDNS string // mux: the external-dns values that we wrote
	Managed               string // label of a mux's slices: we wrote the slice
	Mux                   string // label of a mux's slices and ledger: the mux
	ChannelNamespace      string // label of a mux's slices: the namespace of the channel that is carried
	ChannelName           string // label of a mux's slices: the name of that channel
	Source                string // label of a mux's slices: the slice that is copied
	Finalizer             string // the original's; removed when seen
	SourceRanges          string // slices of a mux on gateways: the networks that may connect; every network if it is empty
	SessionAffinity       string // slices of a mux on gateways: ClientIP or None
	TrafficPolicy         string // slices of a mux on gateways: Local or Cluster
	CarriedBy             string // mux: the gateways that hold its seat
	Pool                  string // label of a gateway's Lease and of a pool's claims: the pool
	GatewayFacts          string // annotation of a gateway's Lease: what the machine is
	GatewayReport         string // annotation of a gateway's Lease: what its agent did

	// Condition types on a channel.
	Accepted      string
	Programmed    string
	BackendsReady string

	// Condition types on a mux on gateways.
	Addressed string
	Carried   string
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
		SourceRanges:          under + sourceRanges,
		SessionAffinity:       under + sessionAffinity,
		TrafficPolicy:         under + trafficPolicy,
		Address:               under + address,
		Gateways:              under + gateways,
		CarriedBy:             under + carriedBy,
		Pool:                  under + pool,
		GatewayFacts:          under + gatewayFacts,
		GatewayReport:         under + gatewayReport,
		Addressed:             under + addressed,
		Carried:               under + carried,
		Accepted:              under + accepted,
		Programmed:            under + programmed,
		BackendsReady:         under + backendsReady,
	}
}

// place is the set of kinds on which an annotation has an effect.
type place uint8

const (
	onMux     = place(IsMux)
	onChannel = place(IsChannel)
	anywhere  = place(Both)
)

// placeOf returns where an annotation of ours has an effect, by its name without the prefix; 0 if the name is unknown.
func placeOf(name string) place {
	switch name {
	case portRange, explicitRange, maxPorts, maxPortsPerNamespace, allowedNamespaces, allowedHostnames,
		allowedProtocols, allocationConfigMap, releaseGrace, placeholder, provider, address, gateways:
		return onMux
	case externalPorts, externalDNSHostname:
		return onChannel
	case multiplexer, disabled, ports, generation, ledger, channels, topology, summary, aggregatedExternalDNS, managed, mux, carriedBy:
		// No warnings for annotations that we write: a Service that changed between mux and channel may still carry
		// them for a moment.
		return anywhere
	}
	return 0
}

// isSettable says that users may set the annotation.
func isSettable(name string) bool { return slices.Contains(settable(), name) }

// settable returns the annotations that users may set.
func settable() []string {
	return []string{
		address, allocationConfigMap, allowedHostnames, allowedNamespaces, allowedProtocols, disabled, explicitRange,
		externalDNSHostname, externalPorts, gateways, maxPorts, maxPortsPerNamespace, multiplexer, placeholder, portRange,
		provider, releaseGrace,
	}
}
