package balancer

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
)

func TestConnectionsAreShownByMuxAndPort(t *testing.T) {
	m := NewMetrics()
	m.CountTraffic(func() ([]table.Count, error) {
		return []table.Count{
			{Service: table.Service{Address: netip.MustParseAddr("192.0.2.1"), Protocol: corev1.ProtocolTCP, First: 443,
				Last: 443}, Connections: 7, Packets: 70, Bytes: 4000},
			{Service: table.Service{Address: netip.MustParseAddr("2001:db8::1"), Protocol: corev1.ProtocolUDP, First: 10000,
				Last: 19999}, Connections: 3, Packets: 6, Bytes: 500},
			{Service: table.Service{Address: netip.MustParseAddr("192.0.2.9"), Protocol: corev1.ProtocolTCP, First: 80,
				Last: 80}, Connections: 9, Packets: 9, Bytes: 9},
		}, nil
	})
	const metric = "svc_lb_mux_gateway_connections_total"
	if n, err := testutil.GatherAndCount(m.Registry, metric); n != 0 || err != nil {
		t.Errorf("%d series before anything is carried: %v", n, err)
	}
	mux := types.NamespacedName{Namespace: "edge", Name: "mux"}
	m.traffic.carry([]want.Address{{Address: netip.MustParseAddr("192.0.2.1"), Mux: mux},
		{Address: netip.MustParseAddr("2001:db8::1"), Mux: mux}})
	const want = `
# HELP svc_lb_mux_gateway_bytes_total Bytes of IP packets of a port or range of a mux that this gateway carried, ` +
		`in both directions.
# TYPE svc_lb_mux_gateway_bytes_total counter
svc_lb_mux_gateway_bytes_total{family="IPv4",mux="mux",mux_namespace="edge",port="443",protocol="TCP"} 4000
svc_lb_mux_gateway_bytes_total{family="IPv6",mux="mux",mux_namespace="edge",port="10000-19999",protocol="UDP"} 500
# HELP svc_lb_mux_gateway_connections_total New connections to a port or range of a mux, also those ` +
		`without a backend's answer.
# TYPE svc_lb_mux_gateway_connections_total counter
svc_lb_mux_gateway_connections_total{family="IPv4",mux="mux",mux_namespace="edge",port="443",protocol="TCP"} 7
svc_lb_mux_gateway_connections_total{family="IPv6",mux="mux",mux_namespace="edge",port="10000-19999",protocol="UDP"} 3
# HELP svc_lb_mux_gateway_packets_total Packets of a port or range of a mux that this gateway carried, ` +
		`in both directions.
# TYPE svc_lb_mux_gateway_packets_total counter
svc_lb_mux_gateway_packets_total{family="IPv4",mux="mux",mux_namespace="edge",port="443",protocol="TCP"} 70
svc_lb_mux_gateway_packets_total{family="IPv6",mux="mux",mux_namespace="edge",port="10000-19999",protocol="UDP"} 6
`
	if err := testutil.GatherAndCompare(m.Registry, strings.NewReader(want), metric, "svc_lb_mux_gateway_packets_total",
		"svc_lb_mux_gateway_bytes_total"); err != nil {
		t.Error(err)
	}
	m.CountTraffic(func() ([]table.Count, error) { return nil, errors.New("the kernel doesn't answer") })
	if _, err := m.Registry.Gather(); err == nil || !strings.Contains(err.Error(), "the kernel doesn't answer") {
		t.Errorf("a failed read is reported as %v", err)
	}
}

// TestLeaseTellsOfTraffic: rates come from two samples, and a port that the kernel counts from zero again has no huge
// rate.
func TestLeaseTellsOfTraffic(t *testing.T) {
	m := NewMetrics()
	address := netip.MustParseAddr("192.0.2.1")
	http := table.Service{Address: address, Protocol: corev1.ProtocolTCP, First: 80, Last: 80}
	media := table.Service{Address: address, Protocol: corev1.ProtocolUDP, First: 10000, Last: 19999}
	left := table.Service{Address: netip.MustParseAddr("192.0.2.9"), Protocol: corev1.ProtocolTCP, First: 80, Last: 80}
	var counts []table.Count
	m.CountTraffic(func() ([]table.Count, error) { return counts, nil })
	start := time.Now()
	if got := m.traffic.sample(start); got != nil {
		t.Errorf("before anything is carried: %+v", got)
	}
	m.traffic.carry([]want.Address{{Address: address}})
	counts = []table.Count{{Service: http, Connections: 10, Packets: 100, Bytes: 1000},
		{Service: media, Connections: 5, Packets: 5, Bytes: 5}, {Service: left, Bytes: 7}}
	if got := m.traffic.sample(start); got != nil {
		t.Errorf("after one look: %+v", got)
	}
	counts = []table.Count{{Service: http, Connections: 2, Packets: 3, Bytes: 4},
		{Service: media, Connections: 6, Packets: 15, Bytes: 905}, {Service: left, Bytes: 9}}
	want := &lease.Traffic{Over: 10 * time.Second, Ports: []lease.PortTraffic{
		{Address: address, Protocol: corev1.ProtocolUDP, First: 10000, Last: 19999,
			Total:  lease.Amounts{Connections: 6, Packets: 15, Bytes: 905},
			Lately: lease.Amounts{Connections: 1, Packets: 10, Bytes: 900}},
		{Address: address, Protocol: corev1.ProtocolTCP, First: 80, Last: 80,
			Total:  lease.Amounts{Connections: 2, Packets: 3, Bytes: 4},
			Lately: lease.Amounts{Connections: 2, Packets: 3, Bytes: 4}},
	}}
	if got := m.traffic.sample(start.Add(10 * time.Second)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	m.CountTraffic(func() ([]table.Count, error) { return nil, errors.New("the kernel doesn't answer") })
	if got := m.traffic.sample(start.Add(20 * time.Second)); got != nil {
		t.Errorf("without an answer: %+v", got)
	}
}
