package lease

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Traffic is what a gateway counted for its busiest ports.
type Traffic struct {
	// Over is the time that Lately is about.
	Over time.Duration
	// Ports are at most maxTraffic, those with the most bytes lately first.
	Ports []PortTraffic
	// Omitted is how many further ports had traffic since the gateway carries them.
	Omitted int
}

// PortTraffic is the traffic of one port, or range of ports, of an address.
type PortTraffic struct {
	Address  netip.Addr
	Protocol corev1.Protocol
	// First and Last are equal for a single port.
	First, Last uint16
	// Total is since the gateway carries the port.
	Total, Lately Amounts
}

// Amounts are new connections, and the packets and bytes of both directions.
type Amounts struct{ Connections, Packets, Bytes uint64 }

// Busiest makes a Traffic of all ports: it keeps those with the most bytes lately.
func Busiest(ports []PortTraffic, over time.Duration) *Traffic {
	ports = slices.DeleteFunc(slices.Clone(ports), func(p PortTraffic) bool { return p.Total == Amounts{} })
	slices.SortFunc(ports, func(a, b PortTraffic) int {
		return cmp.Or(cmp.Compare(b.Lately.Bytes, a.Lately.Bytes), cmp.Compare(b.Total.Bytes, a.Total.Bytes),
			a.Address.Compare(b.Address),
			cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.First, b.First))
	})
	kept := min(len(ports), maxTraffic)
	return &Traffic{Over: over, Ports: ports[:kept], Omitted: len(ports) - kept}
}

// trafficJSON is the JSON of traffic.
type trafficJSON struct {
	Seconds float64           `json:"seconds"`
	Ports   []portTrafficJSON `json:"ports,omitempty"`
	Omitted int               `json:"omitted,omitempty"`
}

type portTrafficJSON struct {
	Address string    `json:"address"`
	Port    string    `json:"port"` // such as 443/TCP, or 10000-19999/UDP
	Total   [3]uint64 `json:"total"`
	Lately  [3]uint64 `json:"lately"`
}

func (t *Traffic) encode() string {
	doc := trafficJSON{Seconds: t.Over.Round(time.Millisecond).Seconds(), Omitted: t.Omitted}
	for i := range t.Ports {
		p := &t.Ports[i]
		port := strconv.Itoa(int(p.First))
		if p.Last != p.First {
			port += "-" + strconv.Itoa(int(p.Last))
		}
		doc.Ports = append(doc.Ports,
			portTrafficJSON{p.Address.String(), port + "/" + string(p.Protocol), p.Total.list(), p.Lately.list()})
	}
	text, _ := json.Marshal(doc) // can't fail: it has only texts and numbers
	return string(text)
}

func (a Amounts) list() [3]uint64 { return [3]uint64{a.Connections, a.Packets, a.Bytes} }

func (doc *trafficJSON) traffic() (*Traffic, error) {
	const longest = 24 * 60 * 60
	over := time.Duration(doc.Seconds * float64(time.Second)).Round(time.Millisecond) // 2.563 s would be a nanosecond less
	if over <= 0 || doc.Seconds > longest || len(doc.Ports) > maxTraffic {            // readers divide by over
		return nil, fmt.Errorf("%d ports over %g seconds: at most %d ports over at most a day are read", len(doc.Ports),
			doc.Seconds, maxTraffic)
	}
	t := &Traffic{Over: over, Omitted: max(0, doc.Omitted)}
	for i := range doc.Ports {
		p, err := doc.Ports[i].traffic()
		if err != nil {
			return nil, err
		}
		t.Ports = append(t.Ports, p)
	}
	return t, nil
}

func (doc *portTrafficJSON) traffic() (PortTraffic, error) {
	numbers, protocol, _ := strings.Cut(doc.Port, "/")
	first, last, isRange := strings.Cut(numbers, "-")
	if !isRange {
		last = first
	}
	address, wrong := netip.ParseAddr(doc.Address)
	from, wrongFirst := strconv.ParseUint(first, 10, 16)
	to, wrongLast := strconv.ParseUint(last, 10, 16)
	known := []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
	if cmp.Or(wrong, wrongFirst, wrongLast) != nil || !isPlain(address) || from == 0 || to < from ||
		!slices.Contains(known, corev1.Protocol(protocol)) {
		return PortTraffic{}, fmt.Errorf("%q of %q isn't a port such as 443/TCP of an IP address", short(doc.Port, maxText),
			short(doc.Address, maxText))
	}
	amounts := func(list [3]uint64) Amounts { return Amounts{list[0], list[1], list[2]} }
	return PortTraffic{address, corev1.Protocol(protocol), uint16(from), uint16(to), amounts(doc.Total),
		amounts(doc.Lately)}, nil
}
