package validation

import (
	"slices"
	"strings"
)

// DefaultPrefix is the prefix of all names below, unless another one is configured.
const DefaultPrefix = "svc-mux.nowake.ai"

// Annotations of external-dns that the reconciler writes on a mux. Those of former releases have the prefix that was
// external-dns's default before release 0.22. The proxy settings are also read from channels.
const (
	FormerHostname          = "external-dns.alpha.kubernetes.io/hostname"
	FormerCloudflareProxied = "external-dns.alpha.kubernetes.io/cloudflare-proxied"
	ExternalDNSHostname     = "external-dns.kubernetes.io/hostname"
	CloudflareProxied       = "external-dns.kubernetes.io/cloudflare-proxied"
)

// Keys are the full names of annotations, labels, the finalizer and condition types, prefix included.
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

	// Written by users, on a route of the Gateway API, beside ExternalPorts and Disabled.
	Gateway string // the Gateway that the route asks for a number on, as namespace/name

	// Written by us.
	Ports                 string // channel: the public number of each port
	Generation            string // mux: the ledger generation that its ports were decided from
	Ledger                string // mux: the ConfigMap of the ledger in force
	Channels              string // mux: its channels, for people
	Topology              string // mux: the ports of each channel, for people
	Summary               string // mux: one line, for people
	Ranges                string // mux on gateways: the ranges of its channels, which spec.ports can't hold
	AggregatedExternalDNS string // mux: the external-dns values that we wrote
	Managed               string // label of a mux's slices: we wrote the slice
	Mux                   string // label of a mux's slices and ledger: the mux
	ChannelNamespace      string // label of a mux's slices: the namespace of the channel that is carried
	ChannelName           string // label of a mux's slices: the name of that channel
	Source                string // label of a mux's slices: the slice that is copied
	Finalizer             string // the original's; removed when seen
	// slices of a mux on gateways: the networks that may connect; every network if it is empty
	SourceRanges    string
	Weight          string // slices of a mux on gateways: the weight of a route's backend Service, and that Service
	SessionAffinity string // slices of a mux on gateways: ClientIP or None
	TrafficPolicy   string // slices of a mux on gateways: Local or Cluster
	CarriedBy       string // mux on gateways: the gateways that answer for its addresses
	Pool            string // label of a gateway's Lease and of a pool's claims: the pool
	GatewayFacts    string // annotation of a gateway's Lease: what the machine is
	GatewayReport   string // annotation of a gateway's Lease: what its agent did
	GatewayTraffic  string // annotation of a gateway's Lease: what its busiest ports carried
	PortName        string // annotation of a ListenerSet of ours: the name of the claim that it publishes

	// Condition types on a channel.
	Accepted      string
	Programmed    string
	BackendsReady string

	// Condition types on a mux on gateways.
	Addressed string
	Carried   string
}

// key is one of our names.
type key struct {
	name string // without prefix and slash
	of   func(*Keys) *string
	// at is where an annotation or label has an effect. It is 0 for names that no Service of ours has as an annotation.
	at place
	// isSettable is true for annotations that users may set. Annotations that we write cause no warning on any Service: a
	// Service that changed between mux and channel may still carry them for a moment.
	isSettable bool
}

// names returns all our names. Everything else about names follows from this list.
func names() []key {
	return []key{
		{multiplexer, func(k *Keys) *string { return &k.Multiplexer }, anywhere, true},
		{"port-range", func(k *Keys) *string { return &k.PortRange }, onMux, true},
		{"explicit-range", func(k *Keys) *string { return &k.ExplicitRange }, onMux, true},
		{"max-ports", func(k *Keys) *string { return &k.MaxPorts }, onMux, true},
		{"max-ports-per-namespace", func(k *Keys) *string { return &k.MaxPortsPerNamespace }, onMux, true},
		{"allowed-namespaces", func(k *Keys) *string { return &k.AllowedNamespaces }, onMux, true},
		{"allowed-hostnames", func(k *Keys) *string { return &k.AllowedHostnames }, onMux, true},
		{"allowed-protocols", func(k *Keys) *string { return &k.AllowedProtocols }, onMux, true},
		{"allocation-configmap", func(k *Keys) *string { return &k.AllocationConfigMap }, onMux, true},
		{"release-grace", func(k *Keys) *string { return &k.ReleaseGrace }, onMux, true},
		{"placeholder", func(k *Keys) *string { return &k.Placeholder }, onMux, true},
		{"provider", func(k *Keys) *string { return &k.Provider }, onMux, true},
		{"address", func(k *Keys) *string { return &k.Address }, onMux, true},
		{"gateways", func(k *Keys) *string { return &k.Gateways }, onMux, true},
		{"disabled", func(k *Keys) *string { return &k.Disabled }, anywhere, true},
		{"external-ports", func(k *Keys) *string { return &k.ExternalPorts }, onChannel, true},
		{"external-dns-hostname", func(k *Keys) *string { return &k.ChannelHostname }, onChannel, true},

		{"ports", func(k *Keys) *string { return &k.Ports }, anywhere, false},
		{"generation", func(k *Keys) *string { return &k.Generation }, anywhere, false},
		{"ledger", func(k *Keys) *string { return &k.Ledger }, anywhere, false},
		{"channels", func(k *Keys) *string { return &k.Channels }, anywhere, false},
		{"topology", func(k *Keys) *string { return &k.Topology }, anywhere, false},
		{"summary", func(k *Keys) *string { return &k.Summary }, anywhere, false},
		{"ranges", func(k *Keys) *string { return &k.Ranges }, anywhere, false},
		{"aggregated-external-dns", func(k *Keys) *string { return &k.AggregatedExternalDNS }, anywhere, false},
		{"managed", func(k *Keys) *string { return &k.Managed }, anywhere, false},
		{"mux", func(k *Keys) *string { return &k.Mux }, anywhere, false},
		{"carried-by", func(k *Keys) *string { return &k.CarriedBy }, anywhere, false},
		{"channel-namespace", func(k *Keys) *string { return &k.ChannelNamespace }, 0, false},
		{"channel-name", func(k *Keys) *string { return &k.ChannelName }, 0, false},
		{"source", func(k *Keys) *string { return &k.Source }, 0, false},
		{"finalizer", func(k *Keys) *string { return &k.Finalizer }, 0, false},
		{"source-ranges", func(k *Keys) *string { return &k.SourceRanges }, 0, false},
		{"weight", func(k *Keys) *string { return &k.Weight }, 0, false},
		{"session-affinity", func(k *Keys) *string { return &k.SessionAffinity }, 0, false},
		{"traffic-policy", func(k *Keys) *string { return &k.TrafficPolicy }, 0, false},
		{"pool", func(k *Keys) *string { return &k.Pool }, 0, false},
		{"gateway-facts", func(k *Keys) *string { return &k.GatewayFacts }, 0, false},
		{"gateway-report", func(k *Keys) *string { return &k.GatewayReport }, 0, false},
		{"gateway-traffic", func(k *Keys) *string { return &k.GatewayTraffic }, 0, false},
		{"gateway", func(k *Keys) *string { return &k.Gateway }, 0, false},
		{"port-name", func(k *Keys) *string { return &k.PortName }, 0, false},

		{"Accepted", func(k *Keys) *string { return &k.Accepted }, 0, false},
		{"Programmed", func(k *Keys) *string { return &k.Programmed }, 0, false},
		{"BackendsReady", func(k *Keys) *string { return &k.BackendsReady }, 0, false},
		{"Addressed", func(k *Keys) *string { return &k.Addressed }, 0, false},
		{"Carried", func(k *Keys) *string { return &k.Carried }, 0, false},
	}
}

// multiplexer is the annotation that makes a Service a mux, as messages name it.
const multiplexer = "multiplexer"

func keysUnder(prefix string) Keys {
	var keys Keys
	for _, key := range names() {
		*key.of(&keys) = prefix + "/" + key.name
	}
	return keys
}

// byName returns all our names, by name without prefix.
func byName() map[string]key {
	all := map[string]key{}
	for _, key := range names() {
		all[key.name] = key
	}
	return all
}

// shortName returns a key without its prefix.
func shortName(key string) string { return key[strings.IndexByte(key, '/')+1:] }

// Conditions returns the types of all conditions that we write on channels.
func (k *Keys) Conditions() []string { return []string{k.Accepted, k.Programmed, k.BackendsReady} }

// place is the set of kinds on which an annotation has an effect.
type place uint8

const (
	onMux     = place(IsMux)
	onChannel = place(IsChannel)
	anywhere  = place(Both)
)

// Settings returns the annotations that users may set.
func (k *Keys) Settings() []string {
	var settings []string
	for _, key := range names() {
		if key.isSettable {
			settings = append(settings, *key.of(k))
		}
	}
	return settings
}

// settable returns the annotations that users may set, without prefix, sorted.
func settable() []string {
	var settable []string
	for _, key := range names() {
		if key.isSettable {
			settable = append(settable, key.name)
		}
	}
	slices.Sort(settable)
	return settable
}
