package lease

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// NamePrefix is the Lease's name before the gateway's name.
const NamePrefix = "svc-lb-mux-gateway-"

// Name returns the name of a gateway's Lease.
func Name(gateway string) string { return NamePrefix + gateway }

// GatewayOf returns the name of the gateway that a Lease registers. It returns false for any other Lease.
func GatewayOf(lease string) (string, bool) {
	name, is := strings.CutPrefix(lease, NamePrefix)
	return name, is && len(validation.IsDNS1123Subdomain(name)) == 0
}

// Gateway is what a Lease tells.
type Gateway struct {
	// Name is unique in the cluster.
	Name string
	// Pool is the pool that the gateway belongs to.
	Pool string
	// Labels are those of the Lease but for the pool's.
	Labels map[string]string
	// Holder identifies the agent's process.
	Holder string
	// RenewedAt is when the agent renewed the Lease by its own clock, and Duration is how long the renewal lasts.
	RenewedAt time.Time
	Duration  time.Duration
	// Facts, Report and Traffic are nil if they are missing or can't be read.
	Facts   *Facts
	Report  *Report
	Traffic *Traffic
	// Problems say what couldn't be read.
	Problems []string
}

// Facts describe the machine.
type Facts struct {
	// Node is the name of the cluster's Node; empty for a machine beside the cluster.
	Node string
	// Zone is the failure domain.
	Zone string
	// Addresses are those at which the other gateways reach this one, sorted.
	Addresses []netip.Addr
	// Capacity is the share of the load relative to other gateways. With 0 the gateway takes no seat: it is being drained.
	Capacity int
	// BackendNetworks are the only networks that backends may be in; an empty list allows every network.
	BackendNetworks []netip.Prefix
	// Version is the agent's version.
	Version string
}

// Report is what the agent did.
type Report struct {
	// Claims is the version of the ConfigMap of claims from which the agent decided last.
	Claims Version
	// Holds are the router IDs of the seats that the gateway holds now, sorted: it answers for their addresses.
	Holds []uint8
	// Muxes are sorted by UID.
	Muxes []Mux
	// Omitted is how many muxes the report has no room for. Nothing is known about them.
	Omitted int
	// Probes are nil if this gateway doesn't probe backends.
	Probes *Probes
	// Adverts are nil while the agent doesn't know what the machine does.
	Adverts *Adverts
	// Faults are about the whole machine, such as missing rights.
	Faults []Refusal
}

// Probes are the results of a gateway's probes of backends.
type Probes struct {
	// Settled is false until the agent has made enough rounds of probes for a backend to fail.
	Settled bool
	// Failing are the backends that don't answer, sorted, at most maxFailing.
	Failing []netip.AddrPort
}

// Adverts are the intervals of adverts that a gateway uses now.
type Adverts struct {
	// Sends is the longest interval between two of its adverts; 0 if it sends none.
	Sends time.Duration
	// Believes is the longest interval that it believes for each of its seats.
	Believes time.Duration
}

// Version identifies one version of an object.
type Version struct {
	UID             types.UID
	ResourceVersion string
}

// Mux is what the agent did for one mux.
type Mux struct {
	UID types.UID
	// Programmed are the addresses for which the kernel's tables hold the mux's ports, sorted.
	Programmed []netip.Addr
	// Refused are the parts that the kernel or the agent refused, in the agent's order.
	Refused []Refusal
	// MoreRefused is how many refusals the report has no room for.
	MoreRefused int
}

// Refusal is something that isn't carried.
type Refusal struct {
	// Port is the port's name on the mux; it is empty if the refusal is about the whole mux.
	Port string
	// Reason is a word in CamelCase.
	Reason string
	// Message names the value and the way out.
	Message string
}

// IsFresh is true if the Lease was renewed in time by the given clock. The clocks of two machines differ: a caller that
// watches the Lease should rely on when it saw renewals instead.
func (g *Gateway) IsFresh(now time.Time) bool { return now.Before(g.RenewedAt.Add(g.Duration)) }

// Fails is true if the gateway's probes of a backend fail.
func (r *Report) Fails(backend netip.AddrPort) bool {
	return r != nil && r.Probes != nil && slices.Contains(r.Probes.Failing, backend)
}

// Find returns what the report tells about a mux.
func (r *Report) Find(mux types.UID) (Mux, bool) {
	if r == nil {
		return Mux{}, false
	}
	for i := range r.Muxes {
		if r.Muxes[i].UID == mux {
			return r.Muxes[i], true
		}
	}
	return Mux{}, false
}
