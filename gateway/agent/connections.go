package agent

import (
	"net/netip"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/gateway/agent/table"
	"nowake.ai/svc-lb-mux/gateway/agent/want"
)

// connections shows the kernel's counts as metrics. It reads them when it is asked: a gateway may have 10,000 ports.
type connections struct {
	total *prometheus.Desc
	read  func() ([]table.Count, error)
	// carried has the muxes of addresses.
	carried atomic.Pointer[map[netip.Addr]types.NamespacedName]
}

func newConnections() *connections {
	return &connections{
		total: prometheus.NewDesc("svc_lb_mux_gateway_connections_total", "New connections to a port or range of a mux, also those without a backend's answer.",
			[]string{"mux_namespace", "mux", "port", "protocol", "family"}, nil),
		read: func() ([]table.Count, error) { return nil, nil },
	}
}

// carry notes which mux has which address.
func (c *connections) carry(addresses []want.Address) {
	carried := make(map[netip.Addr]types.NamespacedName, len(addresses))
	for _, a := range addresses {
		carried[a.Address] = a.Mux
	}
	c.carried.Store(&carried)
}

// Describe implements prometheus.Collector.
func (c *connections) Describe(to chan<- *prometheus.Desc) { to <- c.total }

// Collect implements prometheus.Collector. Counts of an address that isn't carried any more are left out.
func (c *connections) Collect(to chan<- prometheus.Metric) {
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
		to <- prometheus.MustNewConstMetric(c.total, prometheus.CounterValue, float64(count.Connections), mux.Namespace, mux.Name, port,
			string(count.Protocol), family)
	}
}
