package balancer

import (
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// traffic shows the kernel's counts as metrics. It reads the counts only on demand: a gateway may have 10,000 ports.
type traffic struct {
	total, packets, bytes *prometheus.Desc

	read func() ([]table.Count, error)
	// carried says which mux has which address.
	carried atomic.Pointer[map[netip.Addr]types.NamespacedName]

	// sampled is the time of the last counts that went into the Lease, and last holds these counts.
	sampled time.Time
	last    map[table.Service]lease.Amounts
}

func newTraffic() *traffic {
	metric := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("svc_lb_mux_gateway_"+name, help,
			[]string{"mux_namespace", "mux", "port", "protocol", "family"}, nil)
	}
	return &traffic{
		total: metric("connections_total",
			"New connections to a port or range of a mux, also those without a backend's answer."),
		packets: metric("packets_total",
			"Packets of a port or range of a mux that this gateway carried, in both directions."),
		bytes: metric("bytes_total",
			"Bytes of IP packets of a port or range of a mux that this gateway carried, in both directions."),
		read: func() ([]table.Count, error) { return nil, nil },
	}
}

// carry notes which mux has which address.
func (c *traffic) carry(addresses []want.Address) {
	carried := make(map[netip.Addr]types.NamespacedName, len(addresses))
	for _, a := range addresses {
		carried[a.Address] = a.Mux
	}
	c.carried.Store(&carried)
}

// Describe implements prometheus.Collector.
func (c *traffic) Describe(to chan<- *prometheus.Desc) {
	to <- c.total
	to <- c.packets
	to <- c.bytes
}

// Collect implements prometheus.Collector. Counts of an address that isn't carried any more are left out.
func (c *traffic) Collect(to chan<- prometheus.Metric) {
	counts, err := c.read()
	if err != nil {
		to <- prometheus.NewInvalidMetric(c.total, err)
		return
	}
	carried := c.carried.Load()
	if carried == nil {
		return
	}
	for i := range counts {
		count := &counts[i]
		mux, is := (*carried)[count.Address]
		if !is {
			continue
		}
		port, family := strconv.Itoa(int(count.First)), "IPv4"
		if count.Last > count.First {
			port += "-" + strconv.Itoa(int(count.Last))
		}
		if count.Address.Is6() {
			family = "IPv6"
		}
		for desc, value := range map[*prometheus.Desc]uint64{c.total: count.Connections, c.packets: count.Packets,
			c.bytes: count.Bytes} {
			to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value), mux.Namespace, mux.Name, port,
				string(count.Protocol), family)
		}
	}
}

// sample returns, for each of the busiest ports, its total traffic and its traffic since the last call. It returns nil
// at the first call, and if the counts can't be read or no tables are applied yet.
func (c *traffic) sample(now time.Time) *lease.Traffic {
	counts, err := c.read()
	carried := c.carried.Load()
	if err != nil || carried == nil {
		return nil
	}
	over, last := now.Sub(c.sampled), c.last
	c.sampled, c.last = now, make(map[table.Service]lease.Amounts, len(counts))
	var ports []lease.PortTraffic
	for i := range counts {
		count := &counts[i]
		total := lease.Amounts{Connections: count.Connections, Packets: count.Packets, Bytes: count.Bytes}
		c.last[count.Service] = total
		if _, is := (*carried)[count.Address]; is {
			ports = append(ports,
				lease.PortTraffic{Address: count.Address, Protocol: count.Protocol, First: count.First, Last: count.Last,
					Total: total, Lately: since(last[count.Service], total)})
		}
	}
	if last == nil || over <= 0 {
		return nil
	}
	return lease.Busiest(ports, over)
}

// since returns the difference to earlier counts. The kernel counts from zero again if a port goes and comes back.
func since(earlier, now lease.Amounts) lease.Amounts {
	more := func(was, is uint64) uint64 {
		if is < was {
			return is
		}
		return is - was
	}
	return lease.Amounts{Connections: more(earlier.Connections, now.Connections),
		Packets: more(earlier.Packets, now.Packets), Bytes: more(earlier.Bytes, now.Bytes)}
}
