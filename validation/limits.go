package validation

// Limits that are documented for users.
const (
	// MinPort and MaxPort limit every port number.
	MinPort, MaxPort = 1, 65535
	// PlaceholderPort is the number of the TCP port of a mux that has no other port.
	PlaceholderPort = 101
	// MaxHostnames is how many DNS names one channel may publish.
	MaxHostnames = 64
	// MaxChannelPorts is how many ports one channel may have.
	MaxChannelPorts = 1000
	// MaxEntries is how many entries a list on a mux may have: ranges, namespaces, patterns of DNS names. A channel may
	// have as many source ranges.
	MaxEntries = 256
	// DefaultMaxPorts is the cap of a mux without max-ports whose provider has no known limit.
	DefaultMaxPorts = 5000
	// MaxCap is the largest value of max-ports and max-ports-per-namespace.
	MaxCap = 1<<31 - 1
)

// Limits of Kubernetes and of DNS.
const (
	maxLabel   = 63  // a DNS label: the name of a Service, a namespace, a port
	maxDNSName = 253 // a DNS name, and the name of a ConfigMap
	maxClass   = 63  // the part after the slash in spec.loadBalancerClass
)

// Limits of messages, so that a hostile value can't make a long one.
const (
	maxQuoted   = 64  // bytes of a value quoted in a message
	maxListed   = 8   // names listed in a message
	maxProblems = 32  // problems listed for one annotation, or for spec.ports
	maxMeant    = 256 // candidates for "did you mean"
)
